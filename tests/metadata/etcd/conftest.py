import pytest

from tests.metadata.etcd.etcd_world import World


@pytest.fixture
def world() -> World:
    return World()

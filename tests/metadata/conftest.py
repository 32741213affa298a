import pytest

from tests.metadata.zookeeper.zookeeper_world import World


@pytest.fixture
def world() -> World:
    return World()

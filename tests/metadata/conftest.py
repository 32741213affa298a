import pytest

from tests.metadata.zookeeper_world import World


@pytest.fixture
def world() -> World:
    return World()

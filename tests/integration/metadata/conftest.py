"""A ZooKeeper for those who break it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.targets.zookeeper import ZooKeeper


@pytest.fixture
def own_zookeeper(tmp_path: Path) -> Iterator[ZooKeeper]:
    """One that a test may freeze and stop."""
    with ZooKeeper(tmp_path) as server:
        yield server

"""Which tests a full run asks of the releases of Java between its oldest and its newest: one file in three.

By files, for what the tests of one share takes the time.  The oldest release is the oldest that a file is for.
"""

from collections import defaultdict
from pathlib import Path

import pytest

from tests.releases_between import leave_out, release_of


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = [each for each in items if each.path.parent == Path(__file__).parent]
    asked = [(each, release, each.path) for each in here if (release := release_of(each))]
    releases_of = defaultdict[Path, set[str]](set)
    for _, release, path in asked:
        releases_of[path].add(release)
    for releases in set(map(frozenset, releases_of.values())):
        leave_out(config, items, [each for each in asked if releases_of[each[2]] == releases])

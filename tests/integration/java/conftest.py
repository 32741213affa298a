"""Which tests a full run asks of the releases of Java between its oldest and its newest: one file in three.

By files, for what the tests of one share takes the time.
"""

from pathlib import Path

import pytest

from tests.releases_between import leave_out, release_of


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = [each for each in items if each.path.parent == Path(__file__).parent]
    leave_out(config, items, [(each, release, each.path) for each in here if (release := release_of(each))])

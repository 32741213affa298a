"""Which cases a full run asks of the releases of Java between its oldest and its newest: one in three."""

import pytest

from compat_tests.judge.case import Case
from tests.releases_between import leave_out, parameters_of, release_of


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--keep-runs"):
        cases = [each for each in items if isinstance(parameters_of(each).get("case"), Case)]
        leave_out(config, items, [(each, release, each) for each in cases if (release := release_of(each))])

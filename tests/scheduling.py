"""Which tests go to the same worker, when several share the work (``pytest -n``), and in which order.

What takes time is shared by the tests of a file: servers of one release, a Spark session, the run of a whole role.
So a unit of work is a file, or what of a file is about one release; all tests of Spark are one, for they share one
session.  Integration tests come first: their units are the long ones, and the short ones fill the end.
"""

import re
from collections.abc import Iterable

import pytest

_SPARK = "tests/integration/spark/"
_FIRST = "tests/integration/"
_RELEASE = re.compile(r"[\[-](\d+\.\d+\.\d+)[-\]]")


def unit_of(test: str) -> str:
    """Return the name of the unit of work that the test of this id is a part of."""
    file, _, name = test.partition("::")
    if file.startswith(_SPARK):
        return "Spark"
    release = _RELEASE.search(name)
    return f"{file}@{release[1]}" if release else file


def in_order(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Put the integration tests first, and change nothing else."""
    return sorted(items, key=lambda item: not item.nodeid.startswith(_FIRST))


def make_scheduler(config: pytest.Config, log: object) -> object:
    """Return pytest-xdist's scheduler of units, with ours."""
    from xdist.scheduler import LoadScopeScheduling

    class UnitScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    config.option.loadscopereorder = False  # a file of many tests is not a long one
    return UnitScheduling(config, log)

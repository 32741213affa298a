"""Which tests go to the same worker, when several share the work (``pytest -n``), and in which order.

What takes time is shared by the tests of a file: servers of one release, a Spark session, the run of a whole role.
So a unit of work is a file, or what of a file is about one release; all tests of Spark are one, for they share one
session, but for those of its modes, which share none; and so are those of Pulsar, for their broker, and those in
containers, for a daemon.  The seeds of simulated clusters share nothing: a few hundred of them are a unit, so that
several workers take them.  What takes longest begins first, and the short units of the integration tests before
everything else; what is left fills the end.  The simulations, which only compute, begin while the servers of others are
waited for.
"""

import re
from collections.abc import Iterable

import pytest

_SPARK = "tests/integration/spark/"
_SPARK_MODES = _SPARK + "test_modes.py"
_PULSAR = "tests/integration/pulsar/"
_CONTAINERS = "tests/integration/containers/"
_SIMULATION = "tests/simulation/"
# The longest first: a run that begins one of them late waits for it alone.
_FIRST = (
    _SPARK,
    "tests/integration/process/test_soak.py",
    "tests/integration/process/test_load.py",
    "tests/integration/conformance/test_of_bookies.py",
    _PULSAR,
    _CONTAINERS,
    "tests/integration/metadata/test_blocking.py",
    _SIMULATION,
    "tests/integration/java/",
    "tests/integration/process/",
    "tests/integration/",
    "tests/mutants/",
    "",
)
_RELEASE = re.compile(r"[\[-](\d+\.\d+\.\d+)[-\]]")
_SEEDS = re.compile(r"\[(\d+)-\d+\]$")
_SEEDS_OF_A_UNIT = 250


def unit_of(test: str) -> str:
    """Return the name of the unit of work that the test of this id is a part of."""
    file, _, name = test.partition("::")
    if file.startswith(_SPARK) and file != _SPARK_MODES:
        return "Spark"
    if file.startswith(_PULSAR):
        return "Pulsar"
    if file.startswith(_CONTAINERS):
        return "containers"
    if file.startswith(_SIMULATION) and (seeds := _SEEDS.search(name)):
        return f"{file}@{int(seeds[1]) // _SEEDS_OF_A_UNIT}"
    release = _RELEASE.search(name)
    return f"{file}@{release[1]}" if release else file


def in_order(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Put the integration tests first, those that take longest before the others, and change nothing else."""
    return sorted(items, key=lambda item: next(i for i, start in enumerate(_FIRST) if item.nodeid.startswith(start)))


def make_scheduler(config: pytest.Config, log: object) -> object:
    """Return pytest-xdist's scheduler of units, with ours."""
    from xdist.scheduler import LoadScopeScheduling

    class UnitScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    config.option.loadscopereorder = False  # a file of many tests is not a long one
    return UnitScheduling(config, log)

"""How the tests are shared among workers."""

from types import SimpleNamespace

import pytest

from tests.scheduling import in_order, unit_of


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/cli/test_read.py::test_a", "tests/cli/test_read.py"),
        ("tests/cli/test_read.py::test_a[x-1.2]", "tests/cli/test_read.py"),
        ("tests/integration/test_talk.py::test_a[4.16.6]", "tests/integration/test_talk.py@4.16.6"),
        ("tests/integration/test_talk.py::test_a[4.16.6-v3]", "tests/integration/test_talk.py@4.16.6"),
        ("tests/integration/test_talk.py::test_b[v3-4.18.0-x]", "tests/integration/test_talk.py@4.18.0"),
        ("tests/integration/test_talk.py::test_a[14.16.6x]", "tests/integration/test_talk.py"),
        ("tests/integration/spark/test_sink.py::test_a[4.18.0]", "Spark"),
        ("tests/integration/spark/jobs/test_jobs.py::test_a", "Spark"),
        ("tests/integration/spark/test_modes.py::test_a[x-connect]", "tests/integration/spark/test_modes.py"),
        ("tests/integration/pulsar/test_topics.py::test_a", "Pulsar"),
        ("tests/integration/containers/test_talk.py::test_a[4.18.0]", "containers"),
        ("tests/simulation/test_clusters.py::test_a[225-249]", "tests/simulation/test_clusters.py@0"),
        ("tests/simulation/test_clusters.py::test_a[250-274]", "tests/simulation/test_clusters.py@1"),
        ("tests/simulation/test_clusters.py::test_b[25]", "tests/simulation/test_clusters.py"),
        ("tests/spark/test_source.py::test_a", "tests/spark/test_source.py"),
    ],
)
def test_a_unit_shares_what_takes_time(test: str, unit: str) -> None:
    assert unit_of(test) == unit


def test_integration_tests_come_first_and_stay_in_order() -> None:
    names = ["tests/a.py::1", "tests/integration/a.py::2", "tests/b.py::1", "tests/integration/a.py::1"]
    assert _in_order(names) == [names[1], names[3], names[0], names[2]]


def test_the_longest_unit_begins_before_every_other() -> None:
    """The tests of Spark are one unit of minutes: begun last, it would keep one worker busy while the others wait."""
    names = [
        "tests/a.py::1",
        "tests/mutants/test_a.py::1",
        "tests/integration/java/test_a.py::1",
        "tests/simulation/test_a.py::1",
        "tests/integration/conformance/test_of_bookies.py::1",
        "tests/integration/spark/test_a.py::1",
    ]
    assert _in_order(names) == names[::-1]


def _in_order(names: list[str]) -> list[str]:
    return [item.nodeid for item in in_order([SimpleNamespace(nodeid=name) for name in names])]

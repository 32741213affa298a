"""The metrics of our bookie beside those of a Java bookie after the same work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from compat_tests.targets.lockfile import RELEASES
from tests.bookie.metrics.measured_bookie import samples_in
from tests.integration.java.http_sides import CLASSES, ENTRY_COUNT, Side, two_sides
from tests.integration.java.http_table import LEDGER, Request
from tests.integration.support.our_client import poll

pytestmark = [pytest.mark.java, pytest.mark.full]

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "bookie" / "metrics" / "java_names.json").read_text(encoding="utf-8")
)
SUFFIX = re.compile(r"_(count|sum)$")

SAME = {
    "bookkeeper_server_ADD_ENTRY_count": {"success": "true"},
    "bookie_SERVER_STATUS": {},
    "bookie_ledger_num_dirs": {},
    "bookie_ledger_writable_dirs": {},
    "bookkeeper_server_ADD_ENTRY_BLOCKED": {},
    "bookkeeper_server_ADD_ENTRY_IN_PROGRESS": {},
    "bookkeeper_server_READ_ENTRY_IN_PROGRESS": {},
    "bookie_journal_JOURNAL_QUEUE_SIZE": {"journalIndex": "0"},
    "bookie_JOURNAL_DIRS": {},
}
"""What is equal after the same work, with these labels."""


NOT_HERE = {"thread", "threadPool", "ledgerDir", "indexDir"}
"""Labels that only Java has."""


def metrics_of(side: Side) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    status, text = side.ask(Request("/metrics"))
    assert status == 200
    # Java puts a space behind some commas, and braces behind names without labels; Prometheus bears both.
    return samples_in(text.replace(", ", ",").replace("{}", ""))


def value(metrics: Any, name: str, **labels: str) -> float:
    """The sum of all samples with this name and these labels: Java has one for each of its threads."""
    found = [each for (of, has), each in metrics.items() if of == name and labels.items() <= dict(has).items()]
    assert found, name
    return float(sum(found))


def labels_of(metrics: Any, *but: str) -> dict[str, set[frozenset[str]]]:
    """The labels that the samples of each name have."""
    found: dict[str, set[frozenset[str]]] = {}
    for name, labels in metrics:
        found.setdefault(name, set()).add(frozenset(dict(labels)).difference(but))
    return found


@pytest.mark.parametrize("storage", ["sorted", "db"])
def test_after_the_same_work_they_tell_the_same(
    zookeeper: Any, java_targets: Any, tmp_path: Path, storage: str
) -> None:
    with two_sides(zookeeper, java_targets, tmp_path, storage) as sides:
        for side in sides:
            status, _ = side.ask(Request(f"{LEDGER}/read?ledger_id=0&end_entry_id=99"))
            assert status == 200
        if storage == "db":
            assert poll(lambda: all(value(metrics_of(side), "bookie_write_cache_size") == 0 for side in sides))
        java, ours = (metrics_of(side) for side in sides)
    for name, labels in SAME.items():
        assert value(java, name, **labels) == value(ours, name, **labels), name
    assert value(ours, "bookkeeper_server_ADD_ENTRY_count", success="true") == ENTRY_COUNT
    javas, own = labels_of(java, *NOT_HERE), labels_of(ours, *NOT_HERE)
    assert {name: javas[name] for name in own.keys() & javas.keys()} == {name: own[name] for name in own.keys() & javas}
    written = [value(each, "bookie_WRITE_BYTES") for each in (java, ours)]
    assert written[1] == pytest.approx(written[0], rel=0.01)
    for each in (java, ours):
        assert value(each, "bookie_READ_BYTES") > 100 * 8
        assert 0 < value(each, "bookie_journal_JOURNAL_SYNC_count", success="true") <= ENTRY_COUNT
        value(each, "bookkeeper_server_ADD_ENTRY", success="true", quantile="0.5")  # Java's is no number for a while
    if storage == "db":
        assert value(java, "bookie_ledgers_count") == value(ours, "bookie_ledgers_count") == 2
        for each in (java, ours):
            hits, misses = (value(each, f"bookie_read_cache_{name}") for name in ("hits", "misses"))
            assert 1 <= misses < 10 < 90 < hits + misses < 110
        assert value(ours, "bookie_entries_count") == ENTRY_COUNT
        assert value(java, "bookie_entries_count") == pytest.approx(ENTRY_COUNT, abs=9)  # it may write one again
    assert RECORDED["release"] == RELEASES[-1]
    recorded = set(RECORDED[CLASSES[storage]])
    directory = re.compile(r"ledger_dir_.*_usage")
    names = {directory.sub("ledger_dir__PATH_usage", name) for name, _ in java if not name.startswith("jvm_")}
    assert {name for name in names if name not in recorded and SUFFIX.sub("", name) not in recorded} == set()

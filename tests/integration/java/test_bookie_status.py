"""The status that a bookie keeps over restarts is read and written by Java as by ours."""

import time
from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.kept_status import read_status, write_status
from bookkeeper_tx.testing.local_cluster import LocalBookie
from compat_tests.targets.ports import choose_port
from protocol_specs.disk.bookie_status import BookieStatus
from tests.sampling import one_in

pytestmark = pytest.mark.java

KEPT = {"persistBookieStatusEnabled": "true"}
THREE_FIELDS = ("4.9.2", "4.14.7", "4.16.6")
"""Releases that write no fourth field, and pass over a line that has one."""
ALWAYS_FULL = {"diskUsageThreshold": "0.0002", "diskUsageLwmThreshold": "0.0002", "diskUsageWarnThreshold": "0.0001"}


def current(directory: Path) -> list[str]:
    return [str(directory / "current")]


def now_ms() -> int:
    return int(time.time() * 1000)


@pytest.mark.full
def test_java_is_after_a_start_as_an_operator_has_left_ours(java_release, java_bookie):
    java = java_bookie(java_release, settings=KEPT)
    java.stop()
    write_status(Disk(), current(java.ledger_dir), BookieStatus(True, now_ms(), manual=True))
    java.start(read_only=java_release not in THREE_FIELDS)
    java.stop()
    write_status(Disk(), current(java.ledger_dir), BookieStatus(False, now_ms()))
    java.start()


def test_ours_reads_what_java_has_written(java_release, cluster, java_bookie):
    java = java_bookie(java_release, start=False, settings=KEPT | ALWAYS_FULL)
    java.start(read_only=True)
    java.kill(expire=True)
    status = read_status(Disk(), current(java.ledger_dir))
    assert status.read_only
    assert abs(now_ms() - status.updated_at_ms) < 3_600_000
    assert status.manual == (java_release in THREE_FIELDS)


@pytest.mark.parametrize("line", one_in(2, ["1,READ_ONLY,{},true\n", "1,READ_ONLY,{}\n"]))
def test_ours_is_after_a_start_as_an_operator_has_left_java(cluster, tmp_path, line):
    bookie = LocalBookie(tmp_path, cluster.uri, KEPT, [])
    bookie.port = choose_port()
    (tmp_path / "data" / "current").mkdir(parents=True)
    try:
        bookie.launch()
        bookie.wait_until_ready()
        assert cluster.writable_ids() == [bookie.bookie_id]
        bookie.stop()
        Path(current(tmp_path / "data")[0], "BOOKIE_STATUS").write_text(line.format(now_ms()))
        bookie.launch()
        bookie.wait_until_ready()
        assert (cluster.writable_ids(), cluster.read_only_ids()) == ([], [bookie.bookie_id])
    finally:
        bookie.kill()

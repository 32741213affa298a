"""A bookie that acknowledges before its journal is synced, or without it: what a kill loses is what the guide says."""

import random
from pathlib import Path

import pytest

from bookkeeper_tx.errors import LedgerFenced, NoSuchEntry, Unauthorized
from bookkeeper_tx.testing.local_cluster import LocalBookie, LocalCluster
from tests.integration.process import test_crash
from tests.integration.support import raw_requests
from tests.integration.support.adding_channel import AddingChannel
from tests.integration.support.our_client import OurClient, append_and_close, poll, read

pytestmark = pytest.mark.crash

KILLS = 4
LEDGER, FENCED, UNKNOWN, COUNT = 1, 2, 3, 50
PAYLOADS = [bytes(100)] * COUNT


def first_entry(bookie: LocalBookie) -> bytes:
    with AddingChannel("127.0.0.1", bookie.port, raw_requests.PATIENT) as channel:
        return channel.read_entry(LEDGER, 0)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_without_syncs_a_kill_loses_nothing(tmp_path: Path) -> None:
    """The kernel keeps what was written; tests/simulation tests the loss of power."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    settings = test_crash.SETTINGS | {"journalSyncData": "false", "journalPageCacheFlushIntervalMSec": 100}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        test_crash.survive(test_crash.Ordeal(cluster, seed), KILLS)


def test_without_entries_in_the_journal_a_kill_loses_those_not_flushed_and_no_more(tmp_path: Path) -> None:
    settings = {"journalWriteData": "false", "flushInterval": 3_600_000}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        bookie = cluster.bookies[0]
        raw_requests.add(bookie.port, LEDGER, 0, PAYLOADS)
        raw_requests.add(bookie.port, FENCED, 0, PAYLOADS)
        for ledger_id in (FENCED, UNKNOWN):
            raw_requests.fence(bookie.port, ledger_id)
        bookie.kill()
        cluster.restart(0)
        with pytest.raises(NoSuchEntry):
            first_entry(bookie)
        with pytest.raises(Unauthorized):
            raw_requests.add(bookie.port, LEDGER, 0, PAYLOADS, password=b"other")
        for ledger_id in (FENCED, UNKNOWN):
            with pytest.raises(LedgerFenced):
                raw_requests.add(bookie.port, ledger_id, COUNT, PAYLOADS)
        raw_requests.add(bookie.port, LEDGER, 0, PAYLOADS)
        bookie.stop()
        cluster.restart(0)
        assert first_entry(bookie)
        bookie.kill()
        cluster.restart(0)
        assert first_entry(bookie)


@pytest.mark.full
def test_what_a_kill_has_lost_is_copied_from_other_bookies_where_data_are_checked(tmp_path: Path) -> None:
    settings = {"journalWriteData": "false", "flushInterval": 3_600_000, "dataIntegrityChecking": "true"}
    with LocalCluster(tmp_path, 2, settings=settings) as cluster, OurClient(cluster.metadata_uri) as client:
        ledger_id = append_and_close(client.create_ledger(2, 2, 2), PAYLOADS)
        bookie = cluster.bookies[0]
        bookie.kill()
        cluster.restart(0)
        assert poll(lambda: "all entries that this bookie should have are here" in bookie.log), bookie.log_end()
        with AddingChannel("127.0.0.1", bookie.port, raw_requests.PATIENT) as channel:
            assert channel.read_range(ledger_id, 0, COUNT - 1).count == COUNT
        for _ in range(2):
            assert bookie.stop() == 0
            cluster.restart(0)
            assert "entries may be lost" not in bookie.log
        assert read(client.open_ledger(ledger_id), 0, COUNT - 1) == PAYLOADS

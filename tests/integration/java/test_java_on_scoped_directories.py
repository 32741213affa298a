"""A Java bookie on a directory with ledgers outside scope 0: it refuses files that it would misread.  Otherwise it
serves scope 0 and does not touch the other files.

The scoped ledgers are put into the directory of a bookie of ours while it is stopped, as the bookie itself does it.
"""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.journal.records import fence_record
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.testing.local_cluster import LocalBookie
from compat_tests.targets.payloads import patterns
from compat_tests.targets.process import StartFailed
from protocol_specs.ledger_id import join
from tests.bookie.storage.storages import new_storage
from tests.bookie.storage.storages import read as read_stored
from tests.bookie.workers import InlineWorker
from tests.integration.java.test_java_on_our_directories import current_files, directories_of, our_bookie, start
from tests.integration.support.our_client import TIMEOUT_S, OurClient, append, poll, read, wait_for

__all__ = ["our_bookie"]

pytestmark = pytest.mark.java

DIGEST = EntryDigest(DigestType.CRC32, b"scoped")
SCOPED = (join(1, 0), join(-2, 3))
PAYLOADS = patterns(200, 1000, seed=9)
SCOPED_SUFFIX = ".log128"

REFUSAL = "Expected between (1) and (6), got (7)"

#: A Java bookie looks for what it may delete every half second.
COLLECTING = {"gcWaitTime": 500, "minorCompactionInterval": 1, "majorCompactionInterval": 2}


def sealed(ledger_id: int, entry_id: int) -> bytes:
    length = sum(map(len, PAYLOADS[: entry_id + 1]))
    return DIGEST.seal(ledger_id, entry_id, entry_id - 1, length, PAYLOADS[entry_id])


def currents(bookie: LocalBookie) -> tuple[str, str]:
    """The folders of journals and ledgers."""
    return str(bookie.directory / "journal" / "current"), str(bookie.directory / "data" / "current")


def write_scoped(bookie: LocalBookie, ledger_storage_class: str = "SortedLedgerStorage") -> None:
    """Be a bookie that is killed when it has acknowledged entries of scoped ledgers, and flushed none of them."""
    journal_directory, ledger_directory = currents(bookie)
    disk, errors = Disk(), list[BaseException | None]()
    storage = new_storage(disk, ledger_directory, ledger_storage_class=ledger_storage_class)
    config = BookieConfig(metadata_uri="", journal_directory=journal_directory, ledger_directory=ledger_directory)
    journal = Journal(disk, journal_directory, config, threads=InlineWorker(), on_fatal=errors.append)
    journal.start()
    keys = LedgerKeys(storage)
    for ledger_id in SCOPED:
        ledger, records = keys.open(ledger_id, DIGEST.master_key)
        run = EntryRun.of_entries(ledger_id, 0, [sealed(ledger_id, at) for at in range(len(PAYLOADS))])
        storage.add(ledger, run)
        journal.append([*records, run.records(0, run.count)], errors.append)
    journal.append([fence_record(SCOPED[1])], errors.append)
    assert errors == [None] * 3
    journal.stop()
    storage.stop()


def check_scoped(bookie: LocalBookie, ledger_storage_class: str = "SortedLedgerStorage") -> None:
    """All entries were flushed, and are there."""
    storage = new_storage(Disk(), currents(bookie)[1], ledger_storage_class=ledger_storage_class)
    for ledger_id in SCOPED:
        ledger = storage.ledger(ledger_id)
        assert ledger is not None
        assert ledger.fenced == (ledger_id == SCOPED[1])
        stored = [read_stored(storage, ledger_id, at) for at in range(len(PAYLOADS))]
        assert [DIGEST.verify(ledger_id, at, each)[3] for at, each in enumerate(stored)] == PAYLOADS
    storage.stop()


def scoped_files(bookie: LocalBookie) -> dict[str, bytes]:
    root = Path(currents(bookie)[1])
    files = [*root.glob(f"*{SCOPED_SUFFIX}"), *root.glob("*/*/*/*.idx")]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.mark.full
def test_java_refuses_the_journal_and_then_serves_scope_0(java_release, cluster, java_bookie, our_bookie, tmp_path):
    bookie = our_bookie(tmp_path, cluster.uri)
    start(bookie)
    with OurClient(cluster.uri) as ours:
        doomed = ours.create_ledger()
        append(doomed, patterns(2500, 1000, seed=3))
        kept = ours.create_ledger()
        append(kept, PAYLOADS)
        bookie.stop()
        write_scoped(bookie)

        refused = java_bookie(java_release, start=False, port=bookie.port, **directories_of(bookie))
        with pytest.raises(StartFailed):
            refused.start(timeout_s=5)
        # It gives up, and is not registered; its process may stay.
        assert poll(lambda: REFUSAL in (refused.work_dir / "bookie.log").read_text(encoding="utf-8"), TIMEOUT_S)
        assert cluster.writable_ids() == []
        refused.kill(expire=True)

        # Ours flushes the entries of that journal, and begins one that Java reads.
        start(bookie)
        bookie.stop()
        check_scoped(bookie)
        before = scoped_files(bookie)
        assert len(before) == 3
        logs = current_files(bookie, ".log")

        java = java_bookie(java_release, port=bookie.port, settings=COLLECTING, **directories_of(bookie))
        wait_for(ours.bookkeeper.delete_ledger, doomed.ledger_id)
        assert poll(lambda: not set(logs) <= set(current_files(bookie, ".log")), TIMEOUT_S)
        reader = ours.open_ledger(kept.ledger_id)
        assert read(reader, 0, reader.last_add_confirmed) == PAYLOADS
        append(ours.create_ledger(), PAYLOADS)
        java.stop()
        assert scoped_files(bookie) == before

        start(bookie)
        assert read(ours.open_ledger(kept.ledger_id), 0, len(PAYLOADS) - 1) == PAYLOADS
        bookie.stop()
        check_scoped(bookie)

"""What was written before there were scopes is read after, unchanged, and scope 0 is still written the same.

``golden_directory.json`` holds the files of the version before, byte for byte.
"""

import json
from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.last_mark import read_last_mark
from bookkeeper_tx.bookie.journal.replay import replay
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.errors import NoSuchEntry, Unauthorized
from protocol_specs.ledger_id import join
from tests.bookie import golden_directory as golden
from tests.bookie.seams import entry
from tests.bookie.storage.storages import explicit_lac, flush, new_storage, read

GOLDEN = golden.unpack(golden.FILE.read_text(encoding="utf-8"))
SCOPED = join(9, 5)


@pytest.fixture
def directory(tmp_path: Path) -> str:
    """A directory with the files of the version before."""
    for name, data in GOLDEN.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return str(tmp_path)


def started(directory: str) -> LedgerStorage:
    """Start a storage as a bookie does; all that is in the journal is flushed."""
    disk = Disk()
    storage = new_storage(disk, directory, serving=False)
    sink = StorageSink(storage)
    replayed = replay(disk, directory, read_last_mark(disk, [directory]), sink)
    sink.finish()
    assert replayed.entry_count == len(golden.LEDGERS) * (golden.JOURNALLED - golden.FLUSHED)
    assert (sink.skipped, replayed.dropped) == (0, ())
    flush(storage)
    return storage


def check(storage: LedgerStorage) -> None:
    for ledger_id in golden.LEDGERS:
        ledger, made = storage.open_for(ledger_id, golden.DIGEST.master_key)
        assert not made
        with pytest.raises(Unauthorized):
            storage.open_for(ledger_id, b"o" * 20)
        assert ledger.fenced == (ledger_id == golden.FENCED)
        assert ledger.last_entry_id == golden.JOURNALLED - 1
        for entry_id in range(golden.JOURNALLED):
            assert read(storage, ledger_id, entry_id) == golden.sealed(ledger_id, entry_id)
        with pytest.raises(NoSuchEntry):
            read(storage, ledger_id, golden.JOURNALLED)
    with_lac = storage.ledger(golden.WITH_EXPLICIT_LAC)
    assert with_lac is not None
    assert with_lac.explicit_lac is not None
    found = golden.DIGEST.verify_last_add_confirmed(with_lac.ledger_id, with_lac.explicit_lac)
    assert found == with_lac.last_add_confirmed == golden.EXPLICIT_LAC


def test_a_directory_of_the_version_before_is_read_and_not_changed(directory: str) -> None:
    storage = started(directory)
    check(storage)
    check(new_storage(Disk(), directory))
    now = golden.files_of(directory)
    logs = {name: data for name, data in GOLDEN.items() if name.endswith((".log", ".txn"))}
    assert {name: now[name] for name in logs} == logs


def test_scoped_ledgers_come_beside_it(directory: str) -> None:
    storage = started(directory)
    before = golden.files_of(directory)
    ledger, _ = storage.open_for(SCOPED, golden.DIGEST.master_key)
    for entry_id in range(10):
        run = golden.EntryRun.of_entries(SCOPED, entry_id, [entry(entry_id, 100, SCOPED)])
        storage.add(ledger, run)
    storage.set_explicit_lac(ledger, explicit_lac(SCOPED, 4, 4))
    flush(storage)
    again = new_storage(Disk(), directory)
    check(again)
    assert [read(again, SCOPED, entry_id) for entry_id in range(10)] == [entry(at, 100, SCOPED) for at in range(10)]
    after = golden.files_of(directory)
    assert {name for name, data in after.items() if before.get(name) != data} == {
        "00000000/00000009/00000000/00000005.idx",
        "3.log128",
        "lastId",
    }


def test_scope_0_is_written_byte_for_byte_as_before(tmp_path: Path) -> None:
    """So the version before reads what this one writes while there are no other scopes."""
    golden.build(str(tmp_path))
    assert golden.files_of(str(tmp_path)) == GOLDEN


def test_files_come_back_as_they_were_packed() -> None:
    files = {
        "a": b"",
        "b": bytes(100),
        "c": b"x" + bytes(15) + b"y" + bytes(40) + b"z",
        "d": bytes(40) + b"\1" + bytes(3),
    }
    assert golden.unpack(golden.pack(files)) == files
    assert json.loads(golden.pack(files))[2]["parts"] == [[0, (b"x" + bytes(15) + b"y").hex()], [57, "7a"]]

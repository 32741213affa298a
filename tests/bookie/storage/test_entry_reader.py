from array import array

import pytest

from bookkeeper_tx.bookie.storage.checked_pieces import CheckedPieces
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter, PlacedRun
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import StorageFailed
from tests.bookie.crashing_disk import DIRECTORY, new_disk
from tests.bookie.seams import SCOPED, run_of
from tests.bookie.storage.storages import log_directories


class Logs:
    """Entry logs, and where the entries are in them."""

    def __init__(self, *runs: EntryRun) -> None:
        self.disk = new_disk()
        writer = EntryLogWriter(self.disk, log_directories(self.disk), 1 << 30)
        writer.start()
        self.reader = EntryReader(self.disk, log_directories(self.disk), CheckedPieces())
        self.locations = array("Q")
        for _, placed in writer.write([(run.ledger_id, [run]) for run in runs]):
            self.locations.extend(self._locations(placed))

    @staticmethod
    def _locations(placed: list[PlacedRun]) -> list[int]:
        return [each.base + start for each in placed for start in each.run.offsets[:-1]]

    def damage(self, offset: int, data: bytes, name: str = "0.log") -> None:
        self.disk.open(f"{DIRECTORY}/{name}", writable=True).write(data, offset)


every_format = pytest.mark.parametrize("ledger", [7, SCOPED], ids=["V1", "V2"])


@every_format
def test_a_stretch_is_read_ahead(ledger: int) -> None:
    run = run_of(0, *range(40, 140), ledger_id=ledger)
    logs = Logs(run_of(0, 50, ledger_id=SCOPED + 7 - ledger), run)
    del logs.locations[0]
    found = logs.reader.read_run(ledger, 3, logs.locations[3:], 10**6)
    assert (found.first_entry_id, found.last_entry_id) == (3, 99)
    assert list(found) == list(run)[3:]


def test_no_more_is_read_than_was_asked_for() -> None:
    logs = Logs(run_of(0, *[100] * 100))
    found = logs.reader.read_run(7, 0, logs.locations, 1000)
    assert found.count == 9
    assert len(found.buffer) == 9 * 104


def test_an_entry_larger_than_the_piece_is_read_whole() -> None:
    run = run_of(0, 20_000, 20_000)
    logs = Logs(run)
    for entry_id in (0, 1):
        found = logs.reader.read_run(7, entry_id, logs.locations[entry_id:], 100)
        assert list(found) == [run.entry(entry_id)]


def test_absent_entries_end_the_run() -> None:
    logs = Logs(run_of(0, *[50] * 30))
    locations = array("Q", [*logs.locations, *[0] * 500])
    assert logs.reader.read_run(7, 0, locations, 10**6).count == 30
    locations[20] = 0
    assert logs.reader.read_run(7, 0, locations, 10**6).count == 20


def test_entries_of_other_ledgers_end_the_run() -> None:
    logs = Logs(run_of(0, *[50] * 3), run_of(0, 50, ledger_id=8), run_of(3, *[50] * 3))
    mine = array("Q", [*logs.locations[:3], *logs.locations[4:]])
    assert logs.reader.read_run(7, 0, mine, 10**6).count == 3
    assert logs.reader.read_run(7, 3, mine[3:], 10**6).count == 3


@pytest.mark.parametrize(
    ("offset", "data"),
    [
        (1024, b"\x7f"),
        (1024, bytes(4)),
        (1024, b"\xff" * 4),
        (1024, b"\0\0\0\x0f"),
        (1031, b"x"),
        (1039, b"x"),
    ],
    ids=["length too large", "no length", "negative length", "length too small", "other ledger", "other entry"],
)
def test_a_damaged_entry_is_a_storage_failure(offset: int, data: bytes) -> None:
    logs = Logs(run_of(0, 50, 50))
    logs.damage(offset, data)
    with pytest.raises(StorageFailed):
        logs.reader.read_run(7, 0, logs.locations, 10**6)
    assert logs.reader.read_run(7, 1, logs.locations[1:], 10**6).count == 1


@pytest.mark.parametrize(
    ("offset", "data"),
    [
        (1024, b"\x7f"),
        (1024, b"\0\0\0\x18"),
        (1028, b"\x90"),
        (1028, b"\x33"),
        (1036, b"x"),
        (1044, b"x"),
        (1052, b"x"),
    ],
    ids=["length too large", "length too small", "unknown version", "format V1", "scope", "ledger", "other entry"],
)
def test_a_damaged_scoped_entry_too(offset: int, data: bytes) -> None:
    logs = Logs(run_of(0, 50, 50, ledger_id=SCOPED))
    logs.damage(offset, data, "0.log128")
    with pytest.raises(StorageFailed):
        logs.reader.read_run(SCOPED, 0, logs.locations, 10**6)
    assert logs.reader.read_run(SCOPED, 1, logs.locations[1:], 10**6).count == 1


@pytest.mark.parametrize("location", [1, 2, (1 << 32) - 1, 1 << 62, 10**6, (1 << 64) - 1, 9 << 32])
def test_a_location_that_leads_nowhere_is_a_storage_failure(location: int) -> None:
    logs = Logs(run_of(0, 50))
    with pytest.raises(StorageFailed):
        logs.reader.read_run(7, 0, array("Q", [location, 1028]), 10**6)


def test_a_log_that_ends_within_the_entry_is_a_storage_failure() -> None:
    logs = Logs(run_of(0, 5000))
    logs.disk.open(f"{DIRECTORY}/0.log", writable=True).truncate(1024 + 4000)
    with pytest.raises(StorageFailed):
        logs.reader.read_run(7, 0, logs.locations, 100)


@pytest.mark.parametrize(("ledger", "size"), [(7, 24), (7, 41), (7, 5000), (SCOPED, 33), (SCOPED, 50), (SCOPED, 5000)])
def test_the_last_add_confirmed_of_a_stored_entry(ledger: int, size: int) -> None:
    logs = Logs(run_of(5, size, ledger_id=ledger))
    assert logs.reader.last_add_confirmed(ledger, 5, logs.locations[0]) == 4

"""The entries of a ledger by its index, over several directories, holes and pages."""

from array import array
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.entry_logs import EntryLogs
from bookkeeper_tx.bookie.offline.index_files import IndexFiles
from bookkeeper_tx.bookie.offline.stored_entries import BadIndex, Fault, Stored, stored_entries
from bookkeeper_tx.bookie.storage.entry_location import location
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes, pack_locations
from bookkeeper_tx.model import LedgerId
from protocol_specs.disk import ledger_index as spec
from tests.entry.entry_logs import log_of, offsets_of, record

SCOPED = LedgerId(7, 3)


def write_index(directory: Path, ledger_id: int, locations: dict[int, int]) -> None:
    path = Path(LedgerIndexes(Disk(), str(directory), 1).path(ledger_id))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(IndexHeader(b"k" * 20).pack())
        for entry_id, each in locations.items():
            file.seek(spec.HEADER_SIZE + entry_id * spec.LOCATION_SIZE)
            file.write(pack_locations(array("Q", [each])))


def write_log(directory: Path, name: str, records: list[bytes], scoped: bool = False) -> list[int]:
    directory.mkdir(exist_ok=True)
    (directory / name).write_bytes(log_of(records, scoped=scoped))
    return [location(int(name.split(".")[0], 16), offset) for offset, _ in offsets_of(records)]


@contextmanager
def opened(*directories: Path) -> Iterator[tuple[IndexFiles, EntryLogs]]:
    currents = list(map(str, directories))
    index_files, logs = IndexFiles(Disk(), currents), EntryLogs(Disk(), currents)
    with closing(index_files), closing(logs):
        yield index_files, logs


def found(ledger_id: int, *directories: Path, **limits: int) -> list[object]:
    with opened(*directories) as (index_files, logs):
        indexes = index_files.find(ledger_id)
        assert indexes is not None
        items: list[object] = []
        for each in stored_entries(indexes, logs, ledger_id, **limits):
            if isinstance(each, Stored):
                items += list(range(each.run.first_entry_id, each.run.last_entry_id + 1))
            else:
                items.append(each)
        return items


def test_entries_of_several_logs_and_directories_over_holes(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    ids = [0, 1, 2, 1023, 1024, 5000, 70_000]
    places = write_log(a, "1f.log", [record(5, each, b"x") for each in ids[:4]])
    places += write_log(b, "20.log", [record(5, each, b"yy") for each in ids[4:]])
    write_index(b, 5, dict(zip(ids, places, strict=True)))
    assert found(5, a, b) == ids
    assert found(5, a, b, first=2, last=1023) == [2, 1023]
    assert found(5, a, b, first=1024, last=4999) == [1024]


def test_scoped_entries_are_in_logs_of_their_own(tmp_path: Path) -> None:
    a = tmp_path / "a"
    places = write_log(a, "1.log128", [record(SCOPED, each, b"x") for each in range(3)], scoped=True)
    write_index(a, SCOPED, dict(enumerate(places)))
    assert found(SCOPED, a) == [0, 1, 2]
    with opened(a) as (index_files, _):
        assert list(index_files.ledger_ids()) == [SCOPED]


def test_wrong_places_are_faults_and_the_others_are_found(tmp_path: Path) -> None:
    a = tmp_path / "a"
    places = write_log(a, "0.log", [record(5, each, b"x") for each in range(3)])
    write_index(a, 5, {0: places[0], 1: places[2], 2: places[2], 3: 7, 4: location(9, 1024)})
    items = found(5, a)
    assert [each.entry_id if isinstance(each, Fault) else each for each in items] == [0, 1, 2, 3, 4]
    assert [isinstance(each, Fault) for each in items] == [False, True, False, True, True]


def test_an_index_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    a = tmp_path / "a"
    a.mkdir()
    with opened(a) as (index_files, logs):
        (each,) = stored_entries(index_files.directories[0], logs, 5)
    assert isinstance(each, BadIndex)
    assert "5.idx" in each.text


def test_entries_between_those_of_others_large_ones_and_a_cut_end(tmp_path: Path) -> None:
    a = tmp_path / "a"
    sizes = [10, 100, 5000, 70_000, 3]
    records = [record(ledger_id, each, b"x" * sizes[each]) for each in range(5) for ledger_id in (5, 6)]
    places = write_log(a, "0.log", records)
    for ledger_id in (5, 6):
        write_index(a, ledger_id, dict(enumerate(places[ledger_id - 5 :: 2])))
        assert found(ledger_id, a) == [0, 1, 2, 3, 4]
    data = (a / "0.log").read_bytes()
    (a / "0.log").write_bytes(data[:-1])
    assert found(5, a) == [0, 1, 2, 3, 4]
    *entries, fault = found(6, a)
    assert entries == [0, 1, 2, 3]
    assert isinstance(fault, Fault)
    assert fault.entry_id == 4


def test_the_bytes_are_those_of_the_log(tmp_path: Path) -> None:
    a = tmp_path / "a"
    records = [record(5, each, b"%d" % each * (each * 700)) for each in range(12)]
    write_index(a, 5, dict(enumerate(write_log(a, "0.log", records))))
    data = (a / "0.log").read_bytes()
    with opened(a) as (index_files, logs):
        for stored in stored_entries(index_files.directories[0], logs, 5):
            assert isinstance(stored, Stored)
            run, before = stored.run, stored.run.offsets[0]
            for entry_id, start, end in zip(range(99), run.offsets, run.offsets[1:], strict=False):
                at = stored.offset + start - before
                assert data[at : at + end - start] == records[run.first_entry_id + entry_id]
                assert run.buffer[start:end] == records[run.first_entry_id + entry_id]

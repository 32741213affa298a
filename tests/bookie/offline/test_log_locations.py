"""Where the entries of a log lie, run by run."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.offline.entry_logs import LogFile
from bookkeeper_tx.bookie.offline.log_locations import LocatedRun, located_runs
from bookkeeper_tx.bookie.storage.entry_location import split_location
from protocol_specs.disk import entry_log as spec
from tests.bookie.offline.logs import log_file
from tests.entry.entry_logs import SCOPED_LEDGER, direct_log_of, log_of, offsets_of, record

IDS = [(5, 0), (5, 1), (6, 1), (6, 2), (5, 2), (5, 2), (5, 7)]
RECORDS = [record(*ids, b"x" * ids[1]) for ids in IDS]


def found(path: Path, data: bytes) -> tuple[list[tuple[int, int, int]], list[str]]:
    """Return ledger, entry and offset of each entry, and the texts of the problems."""
    entries, problems = [], []
    with log_file(path, data) as (file, header):
        for run in located_runs(file, LogFile(0x1F, str(path), header.scoped), header):
            if not isinstance(run, LocatedRun):
                problems.append(str(run))
                continue
            for entry_id, each in enumerate(run.locations, run.first_entry_id):
                log_id, offset = split_location(each)
                assert log_id == 0x1F
                entries.append((run.ledger_id, entry_id, offset))
    return entries, problems


def test_every_entry_has_its_place(tmp_path: Path) -> None:
    expected = [(*ids, offset) for ids, (offset, _) in zip(IDS, offsets_of(RECORDS), strict=True)]
    assert found(tmp_path / "1f.log", log_of(RECORDS, map_of={5: 1})) == (expected, [])


def test_filler_and_scoped_logs(tmp_path: Path) -> None:
    entries, problems = found(tmp_path / "1f.log", direct_log_of([RECORDS]))
    assert (len(entries), entries[0][2], problems) == (len(IDS), 4096, [])
    scoped = [record(SCOPED_LEDGER, each, b"x") for each in range(3)]
    entries, problems = found(tmp_path / "1f.log128", log_of(scoped, map_of={SCOPED_LEDGER: 1}, scoped=True))
    assert [each[:2] for each in entries] == [(SCOPED_LEDGER, each) for each in range(3)]
    assert problems == []


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (record(SCOPED_LEDGER, 0, b"x"), "no entry has"),
        (b"\0\0\0\x03abc", "too short"),
        (record(5, 1 << 40, b"x"), "no index can have entry 1099511627776"),
        (b"\0\0\0\x40" + bytes(64), "zeros in the place of an entry"),
        (b"\0\0\0\x40" + b"\xff" * 7 + b"\xfe" + bytes(56), "no entry has"),
    ],
)
def test_a_record_that_is_no_entry_is_a_problem_with_its_place(tmp_path: Path, bad: bytes, text: str) -> None:
    entries, problems = found(tmp_path / "1f.log", log_of([RECORDS[0], bad, RECORDS[1]]))
    assert [each[:2] for each in entries] == [(5, 0), (5, 1)]
    (problem,) = problems
    assert f"offset {spec.HEADER_SIZE + len(RECORDS[0])}: " in problem
    assert text in problem


def test_entry_0_of_ledger_0_is_no_zeros(tmp_path: Path) -> None:
    assert found(tmp_path / "1f.log", log_of([record(0, 0, b"")])) == ([(0, 0, spec.HEADER_SIZE)], [])

"""The records of an entry log, with their places and kinds."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.offline.log_records import records_of
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk import entry_log as spec
from tests.bookie.offline.logs import log_file
from tests.entry.entry_logs import SCOPED_LEDGER, direct_log_of, log_of, offsets_of, record

RECORDS = [record(5, 0, b"zero"), record(6, 0, b"another"), record(5, 1, b"one")]


def test_records_have_place_ids_and_metadata(tmp_path: Path) -> None:
    with log_file(tmp_path / "0.log", log_of(RECORDS, map_of={5: 1, 6: 2})) as (file, header):
        found = list(records_of(file, header))
    assert [(each.offset, each.size) for each in found[:3]] == offsets_of(RECORDS)
    assert [(each.kind, each.ledger_id, each.entry_id) for each in found[:3]] == [
        ("entry", 5, 0),
        ("entry", 6, 0),
        ("entry", 5, 1),
    ]
    assert (found[2].last_add_confirmed, found[2].length) == (0, 3)
    assert [each.kind for each in found[3:]] == ["ledgers map"]


def test_scoped_records_have_their_ledger(tmp_path: Path) -> None:
    data = log_of([record(SCOPED_LEDGER, 2, b"x")], map_of={SCOPED_LEDGER: 9}, scoped=True)
    with log_file(tmp_path / "0.log128", data) as (file, header):
        found = list(records_of(file, header))
    assert [each.kind for each in found] == ["entry", "ledgers map"]
    assert (found[0].ledger_id, found[0].entry_id, found[0].last_add_confirmed) == (SCOPED_LEDGER, 2, 1)


def test_filler_of_direct_io_is_named(tmp_path: Path) -> None:
    with log_file(tmp_path / "0.log", direct_log_of([RECORDS])) as (file, header):
        kinds = [each.kind for each in records_of(file, header)]
    assert kinds == ["filler", "entry", "entry", "entry"]


def test_what_lies_between_two_offsets(tmp_path: Path) -> None:
    (_, first), (second, size), (third, _) = offsets_of(RECORDS)
    with log_file(tmp_path / "0.log", log_of(RECORDS)) as (file, header):
        assert [each.offset for each in records_of(file, header, second, third)] == [second]
        assert [each.offset for each in records_of(file, header, second + size - 1, second + size)] == [second]
        assert [each.offset for each in records_of(file, header, second + size)] == [third]
        assert [each.offset for each in records_of(file, header, 0, spec.HEADER_SIZE + first)] == [spec.HEADER_SIZE]


@pytest.mark.parametrize("scoped", [False, True])
def test_records_of_the_other_format_are_problems(tmp_path: Path, scoped: bool) -> None:
    wrong = record(5, 0, b"x") if scoped else record(SCOPED_LEDGER, 0, b"x")
    with log_file(tmp_path / "0.log", log_of([wrong], scoped=scoped)) as (file, header):
        (found,) = records_of(file, header)
    assert (found.kind, found.offset) == ("problem", spec.HEADER_SIZE)
    assert "no entry of this log" in found.text


def test_a_cut_is_a_problem_with_its_place(tmp_path: Path) -> None:
    with log_file(tmp_path / "0.log", log_of(RECORDS)[:-1]) as (file, header):
        found = list(records_of(file, header))
    assert (found[-1].kind, found[-1].offset) == ("problem", offsets_of(RECORDS)[2][0])
    assert "cut off" in found[-1].text


def test_a_record_too_short_for_ids_is_a_problem_and_the_next_is_found(tmp_path: Path) -> None:
    with log_file(tmp_path / "0.log", log_of([b"\0\0\0\x03abc", RECORDS[0]])) as (file, header):
        found = list(records_of(file, header))
    assert [each.kind for each in found] == ["problem", "entry"]
    assert "too short" in found[0].text


def test_a_file_that_is_no_log_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="no entry log"), log_file(tmp_path / "0.log", b"JUNK" * 300):
        pass

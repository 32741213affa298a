"""Index files made anew from entry logs: whatever is lost, what can be found is found, and nothing is made up."""

from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline import index_rebuild
from bookkeeper_tx.bookie.offline.index_rebuild import IndexRebuild, Rebuilt
from bookkeeper_tx.bookie.offline.index_spool import IndexSpool
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.stored_entries import Fault
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import LedgerId
from tests.bookie.golden_directory import FENCED, LEDGERS, WITH_EXPLICIT_LAC, build, files_of
from tests.bookie.offline.test_stored_entries import found as entries_of
from tests.bookie.offline.test_stored_entries import write_index, write_log
from tests.entry.entry_logs import record
from tests.sampling import examples

SCOPED = LedgerId(3, 7)
KEY = b"k" * 20


def rebuild(
    *directories: Path,
    wanted: Collection[int] | None = None,
    keys: Mapping[int, bytes] | None = None,
    dry_run: bool = False,
    closed: Mapping[int, int] | None = None,
) -> tuple[list[Rebuilt], list[str]]:
    """Return what was rebuilt, and the problems."""
    problems: list[str] = []
    places = Places((), tuple(map(str, directories)))
    with closing(IndexRebuild(Disk(), places, wanted, dry_run)) as work:
        work.scan(problems.append)
        work.settle(closed or {}, problems.append)
        return list(work.finish(keys or {})), problems


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    (tmp_path / "current").mkdir()
    build(str(tmp_path / "current"))
    return tmp_path


def header_of(directory: Path, ledger_id: int) -> IndexHeader | None:
    return LedgerIndexes(Disk(), str(directory / "current"), 1).read_header(ledger_id)


def test_good_indexes_are_made_the_same_again(golden: Path) -> None:
    before = files_of(str(golden))
    done, problems = rebuild(golden)
    assert [(each.ledger_id, each.entries, each.kept) for each in done] == [(each, 8, 0) for each in LEDGERS]
    assert problems == []
    assert files_of(str(golden)) == before


def test_indexes_that_are_lost_are_made_with_the_key_and_fenced(golden: Path) -> None:
    before = files_of(str(golden))
    for path in golden.rglob("*.idx"):
        path.unlink()
    done, _ = rebuild(golden, keys=dict.fromkeys(LEDGERS, KEY))
    assert [each.fenced for each in done] == [True] * 3
    for ledger_id in LEDGERS:
        assert header_of(golden, ledger_id) == IndexHeader(KEY, fenced=True)
        assert entries_of(ledger_id, golden / "current") == list(range(8))
    after = files_of(str(golden))
    assert after.keys() == before.keys()
    assert all(after[name][1024:] == data[1024:] for name, data in before.items())


def test_a_ledger_without_a_key_is_left_alone(golden: Path) -> None:
    before = files_of(str(golden))
    (golden / "current" / "0" / "5" / "5.idx").write_bytes(b"JUNK" * 500)
    done, problems = rebuild(golden)
    assert [each.ledger_id for each in done] == [0, WITH_EXPLICIT_LAC]
    assert any("no valid header" in each for each in problems)
    assert files_of(str(golden)) == {**before, "current/0/5/5.idx": b"JUNK" * 500}


def test_fence_and_explicit_lac_stay_when_only_locations_are_wrong(golden: Path) -> None:
    before = files_of(str(golden))
    for path in golden.rglob("*.idx"):
        path.write_bytes(path.read_bytes()[:1024] + b"\xff" * 8192)
    rebuild(golden)
    assert files_of(str(golden)) == before
    assert header_of(golden, WITH_EXPLICIT_LAC).explicit_lac


def test_only_the_wanted_ledgers_are_made(golden: Path) -> None:
    for path in golden.rglob("*.idx"):
        path.unlink()
    done, _ = rebuild(golden, wanted=[FENCED], keys=dict.fromkeys(LEDGERS, KEY))
    assert [each.ledger_id for each in done] == [FENCED]
    assert [path.name for path in golden.rglob("*.idx")] == ["5.idx"]


def test_a_dry_run_writes_nothing(golden: Path) -> None:
    (golden / "current" / "0" / "5" / "5.idx").unlink()
    before = files_of(str(golden))
    done, _ = rebuild(golden, keys=dict.fromkeys(LEDGERS, KEY), dry_run=True)
    assert [(each.ledger_id, each.entries) for each in done] == [(each, 8) for each in LEDGERS]
    assert files_of(str(golden)) == before


def test_entries_behind_damage_keep_the_place_that_the_old_index_knew(golden: Path) -> None:
    before = files_of(str(golden))
    log = golden / "current" / "0.log"
    data = bytearray(log.read_bytes())
    data[1600] ^= 0xFF  # inside entry 1 of ledger 5: its content is not looked at
    data[1562] = 0xFF  # its length word: nothing behind it is found by the walk
    log.write_bytes(data)
    done, problems = rebuild(golden)
    kept = {each.ledger_id: (each.entries, each.kept) for each in done}
    assert kept == {0: (8, 0), 5: (1, 6), WITH_EXPLICIT_LAC: (8, 0)}
    assert "offset 1562: a record cannot have" in problems[0]
    entries = entries_of(5, golden / "current")
    assert entries[:1] + entries[2:] == [0, 2, 3, 4, 5, 6, 7]
    assert isinstance(entries[1], Fault)  # so a reader is told an error, and not that it was never there
    unchanged = {name for name, old in before.items() if files_of(str(golden))[name] == old}
    assert unchanged == before.keys() - {"current/0.log"}


def flipped(current: Path, bit: int, count: int = 5) -> list[int]:
    """Write a log of ledger 5 and its good index; turn a bit in the id of the last entry but one; return the places."""
    records = [record(5, each, b"x") for each in range(count)]
    places = write_log(current, "0.log", records)
    write_index(current, 5, dict(enumerate(places)))
    data = bytearray((current / "0.log").read_bytes())
    at = split_location(places[count - 2])[1] + 4 + 8 + 7 - bit // 8
    data[at] ^= 1 << bit % 8
    (current / "0.log").write_bytes(data)
    return places


@pytest.mark.parametrize("bit", range(20, 64))
def test_a_flipped_bit_of_an_entry_id_is_one_line_and_leaves_the_old_place(tmp_path: Path, bit: int) -> None:
    current = tmp_path / "current"
    places = flipped(current, bit)
    write_log(current, "1.log", [record(6, 0, b"x")])
    write_index(current, 6, {})
    index = current / "0" / "5" / "5.idx"
    done, problems = rebuild(tmp_path)
    assert len(problems) == 1, problems
    assert f"{current}/0.log: offset {split_location(places[3])[1]}: " in problems[0]
    assert {each.ledger_id: each.entries for each in done} == {5: 4, 6: 1}
    assert list(LedgerIndexes(Disk(), str(current), 1).read_page(5, 0)[:5]) == places
    assert index.stat().st_size == 1024 + 8192
    assert entries_of(6, current) == [0]


@pytest.mark.parametrize("bit", [20, 31, 39])
def test_without_its_index_the_metadata_of_a_closed_ledger_tells_a_damaged_id(tmp_path: Path, bit: int) -> None:
    current = tmp_path / "current"
    flipped(current, bit)
    (current / "0" / "5" / "5.idx").unlink()
    done, problems = rebuild(tmp_path, keys={5: KEY}, closed={5: 4})
    assert [each.entries for each in done] == [4]
    assert len(problems) == 1
    assert "which is closed at entry 4: the id is damaged" in problems[0]
    assert entries_of(5, current) == [0, 1, 2, 4]


def test_an_entry_in_doubt_that_nothing_contradicts_gets_a_place_and_a_line(tmp_path: Path) -> None:
    current = tmp_path / "current"
    far = 5_000_000
    places = write_log(current, "0.log", [record(5, 0, b"x"), record(5, far, b"x")])
    write_index(current, 5, {0: places[0]})
    _, problems = rebuild(tmp_path)
    assert len(problems) == 1
    assert "nothing says whether the id is right" in problems[0]
    assert entries_of(5, current) == [0, far]
    assert rebuild(tmp_path)[1] == []  # its index has it now
    (current / "0" / "5" / "5.idx").unlink()
    assert rebuild(tmp_path, keys={5: KEY}, closed={5: far})[1] == []
    assert entries_of(5, current) == [0, far]


def test_a_bookie_that_came_late_to_a_ledger_has_no_entry_in_doubt(tmp_path: Path) -> None:
    current = tmp_path / "current"
    ids = [*range(5_000_000, 5_003_000, 3), 9_000_000_000, 9_000_000_001]
    write_log(current, "0.log", [record(5, each, b"x") for each in ids])
    _, problems = rebuild(tmp_path, keys={5: KEY})
    assert problems == []
    assert entries_of(5, current) == ids


def test_a_log_that_cannot_be_read_is_one_line_with_its_path_and_its_places_stay(golden: Path) -> None:
    before = files_of(str(golden))
    log = golden / "current" / "0.log"
    log.unlink()
    log.mkdir()
    done, problems = rebuild(golden)
    assert problems == [f"cannot read {log}: [Errno 21] Is a directory"]
    assert sum(each.entries for each in done) < 24
    after = files_of(str(golden))
    assert {name: data for name, data in after.items() if name.endswith(".idx")} == {
        name: data for name, data in before.items() if name.endswith(".idx")
    }


def test_a_full_disk_is_no_problem_of_a_log(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(str(golden))

    def write(self: IndexSpool) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexSpool, "write", write)
    with pytest.raises(OSError, match="No space"):
        rebuild(golden)
    assert files_of(str(golden)) == before


def test_wrong_places_of_the_old_index_go(tmp_path: Path) -> None:
    current = tmp_path / "current"
    places = write_log(current, "0.log", [record(5, each, b"x") for each in range(3)])
    write_index(current, 5, {0: places[1], 9: places[2]})
    rebuild(tmp_path)
    assert entries_of(5, current) == [0, 1, 2]


def test_of_two_copies_that_of_the_later_log_counts(tmp_path: Path) -> None:
    current = tmp_path / "current"
    write_log(current, "f.log", [record(5, each, b"old") for each in range(3)])
    places = write_log(current, "10.log", [record(5, each, b"new") for each in range(2)])
    rebuild(tmp_path, keys={5: KEY})
    page = LedgerIndexes(Disk(), str(current), 1).read_page(5, 0)
    assert list(page[:2]) == places[:2]
    assert entries_of(5, current) == [0, 1, 2]


def test_several_directories_and_scopes(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for each in (a, b):
        (each / "current").mkdir(parents=True)
    write_log(a / "current", "0.log", [record(5, 0, b"x")])
    write_log(b / "current", "1.log", [record(5, 1, b"x")])
    write_log(b / "current", "2.log128", [record(SCOPED, each, b"x") for each in range(2)], scoped=True)
    write_index(b / "current", 5, {})
    done, _ = rebuild(a, b, keys={SCOPED: KEY})
    assert sorted(each.ledger_id for each in done) == [5, SCOPED]
    assert entries_of(5, a / "current", b / "current") == [0, 1]
    assert entries_of(SCOPED, a / "current", b / "current") == [0, 1]
    assert [path.name for path in (a / "current").rglob("*.idx")] == ["00000003.idx"]


@pytest.mark.parametrize("wanted", [None, [0]])
def test_what_a_killed_rebuild_left_is_removed(golden: Path, wanted: list[int] | None) -> None:
    before = files_of(str(golden))
    for name in ("0/5/5.idx.rebuilt", "0/77/77.idx.rebuilt", "00000007/00000000/00000000/00000003.idx.rebuilt"):
        path = golden / "current" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    left = files_of(str(golden))
    rebuild(golden, dry_run=True)
    assert files_of(str(golden)) == left
    rebuild(golden, wanted=wanted)
    assert files_of(str(golden)) == before


def test_a_failure_leaves_old_indexes_and_no_new_files(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(str(golden))

    def rename(self: Disk, path: str, new_path: str) -> None:
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr(Disk, "rename", rename)
    with pytest.raises(OSError, match="No space"):
        rebuild(golden)
    assert files_of(str(golden)) == before


ENTRIES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3000)), max_size=60)


@settings(max_examples=examples(40), deadline=None)
@given(logs=st.lists(ENTRIES, max_size=4), held=st.sampled_from([1, 1000, 1 << 20]))
def test_all_entries_are_found_with_any_memory(
    tmp_path_factory: pytest.TempPathFactory, logs: list[list[tuple[int, int]]], held: int
) -> None:
    directory = tmp_path_factory.mktemp("bookie")
    current = directory / "current"
    current.mkdir()
    for log_id, entries in enumerate(logs):
        write_log(current, f"{log_id:x}.log", [record(*each, b"x" * (each[1] % 7)) for each in entries])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_rebuild, "IndexSpool", lambda disk, indexes: IndexSpool(disk, indexes, held))
        _, problems = rebuild(directory, keys=dict.fromkeys(range(4), KEY))
    assert problems == []
    for ledger_id in range(4):
        expected = sorted({entry for entries in logs for owner, entry in entries if owner == ledger_id})
        if expected:
            assert entries_of(ledger_id, current) == expected


def test_logs_of_two_directories_with_one_id_are_refused(tmp_path: Path) -> None:
    directories = [tmp_path / name for name in ("a", "b")]
    for directory in directories:
        (directory / "current").mkdir(parents=True)
        build(str(directory / "current"))
    with pytest.raises(StorageFailed, match="have one id, which an index file cannot tell apart"):
        rebuild(*directories)

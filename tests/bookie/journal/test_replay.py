from typing import Any

import crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookkeeper_tx.bookie.journal import reader
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark
from bookkeeper_tx.bookie.journal.records import (
    SEAL_PAD,
    deleted_record,
    explicit_lac_record,
    fence_record,
    key_record,
    seal_pad,
)
from bookkeeper_tx.bookie.journal.replay import Replayed, replay
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs import codecs, vectors
from protocol_specs.disk import journal as spec
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, new_disk
from tests.bookie.journal.journals import FIRST_ID, SALT, Config, Sink, entry, new_journal, path_of, replayed
from tests.bookie.seams import SCOPED
from tests.sampling import examples

FIRST_GROUP = spec.HEADER_SIZE + spec.ALIGNMENT
KEY = b"k" * 20


def write(disk: CrashingDisk, *groups: list[bytes], **changes: Any) -> Journal:
    """Write groups to a new journal file."""
    journal = new_journal(disk, **changes)
    journal.start()
    for group in groups:
        journal.append(group, lambda error: None)
    return journal


def patch(disk: CrashingDisk, offset: int, data: bytes, journal_id: int = FIRST_ID) -> None:
    """Change bytes of a file."""
    disk.open(path_of(journal_id), writable=True).write(data, offset)


def put_file(disk: CrashingDisk, data: bytes, journal_id: int = FIRST_ID) -> None:
    disk.create(path_of(journal_id)).write(data, 0)


def java_file(records: bytes, version: int = spec.VERSION, zeros: int = 4096) -> bytes:
    """Return a file as Java writes it."""
    header = spec.HEADER.build({"version": version})
    size = spec.HEADER_SIZE if version >= spec.VERSION_WITH_PADDING else spec.SHORT_HEADER_SIZE
    return bytes(header.ljust(size, b"\0")) + records + bytes(zeros)


def java_pad(size: int) -> bytes:
    return bytes(spec.PAD.build({"size": size, "body": bytes(size)}))


def refused(disk: CrashingDisk, mark: LogMark = BEGINNING) -> str:
    with pytest.raises(RefusedToStart) as caught:
        replayed(disk, mark)
    return str(caught.value)


def test_nothing_to_replay(disk: CrashingDisk) -> None:
    found, result = replayed(disk)
    assert (found, result.mark, result.entry_count) == ([], BEGINNING, 0)


def test_records_come_in_order_and_entries_in_runs(disk: CrashingDisk) -> None:
    records = [key_record(5, KEY), *(entry(5, n) for n in range(3)), entry(6, 3), fence_record(5), entry(5, 3)]
    journal = write(disk, records, [explicit_lac_record(5, b"body"), entry(5, 4), entry(5, 6)])
    sink = Sink()
    result = replay(disk, DIRECTORY, BEGINNING, sink)
    assert sink.found == [
        ("key", 5, KEY), (5, 0), (5, 1), (5, 2), (6, 3), ("fence", 5), (5, 3), ("lac", 5, b"body"), (5, 4), (5, 6),
    ]  # fmt: skip
    assert [(run.ledger_id, run.first_entry_id, run.count) for run in sink.runs] == [
        (5, 0, 3), (6, 3, 1), (5, 3, 1), (5, 4, 1), (5, 6, 1),
    ]  # fmt: skip
    run = sink.runs[0]
    assert run.records(0, 3) == entry(5, 0) + entry(5, 1) + entry(5, 2)
    assert (result.mark, result.entry_count, result.dropped) == (journal.mark, 7, ())


@pytest.mark.parametrize("window_size", [64, 600, 1500])
def test_the_window_may_end_anywhere(disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch, window_size: int) -> None:
    monkeypatch.setattr(reader, "WINDOW_SIZE", window_size)
    write(disk, *([entry(5, n), entry(5, n + 1, 700)] for n in range(0, 20, 2)))
    put_file(disk, java_file(b"".join(entry(6, n) + java_pad(n * 50) for n in range(20))), FIRST_ID + 1)
    found, _ = replayed(disk)
    assert found == [(5, n) for n in range(20)] + [(6, n) for n in range(20)]


def test_replay_starts_at_the_mark(disk: CrashingDisk) -> None:
    write(disk, [entry(1, 0)], [entry(1, 1)])
    write(disk, [entry(1, 2)])
    assert replayed(disk, LogMark(FIRST_ID, FIRST_GROUP + 512))[0] == [(1, 1), (1, 2)]
    assert replayed(disk, LogMark(FIRST_ID, 0))[0] == [(1, 0), (1, 1), (1, 2)]
    assert replayed(disk, LogMark(FIRST_ID + 1, 0))[0] == [(1, 2)]


def test_a_mark_that_names_a_missing_file_is_refused(disk: CrashingDisk) -> None:
    assert path_of(7) in refused(disk, LogMark(7, 512))
    write(disk, [entry(1, 0)])
    assert path_of(7) in refused(disk, LogMark(7, 512))
    assert path_of(FIRST_ID + 1) in refused(disk, LogMark(FIRST_ID + 1, 512))


def three_files(disk: CrashingDisk) -> None:
    """Write three files of a group each."""
    for entry_id in range(3):
        write(disk, [key_record(5, KEY), entry(5, entry_id)])


@pytest.mark.parametrize("mark", [BEGINNING, LogMark(FIRST_ID, FIRST_GROUP)])
def test_a_gap_before_a_file_of_ours_is_refused(disk: CrashingDisk, mark: LogMark) -> None:
    three_files(disk)
    disk.remove(path_of(FIRST_ID + 1))
    text = refused(disk, mark)
    assert f"missing: {path_of(FIRST_ID + 1)}" in text
    assert path_of(FIRST_ID + 2) in text


def test_files_before_the_mark_may_be_missing(disk: CrashingDisk) -> None:
    three_files(disk)
    disk.remove(path_of(FIRST_ID))
    assert replayed(disk, LogMark(FIRST_ID + 1, FIRST_GROUP))[0] == [
        ("key", 5, KEY), (5, 1), ("key", 5, KEY), (5, 2),
    ]  # fmt: skip


def test_files_of_javas_leave_gaps_and_ours_go_on_after_them(disk: CrashingDisk) -> None:
    write(disk, [key_record(5, KEY), entry(5, 0)])
    put_file(disk, java_file(entry(5, 1)), FIRST_ID + 500)
    put_file(disk, java_file(entry(5, 2)), FIRST_ID + 900)
    write(disk, [entry(5, 3)])
    assert replayed(disk)[0] == [("key", 5, KEY), *((5, n) for n in range(4))]
    disk.remove(path_of(FIRST_ID + 900))
    assert f"missing: {path_of(FIRST_ID + 900)}" in refused(disk)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(0, 1500), max_size=5), st.sampled_from([entry(5, 0), entry(SCOPED, 0)]), st.booleans())
def test_a_start_of_zeros_does_not_hide_groups(sizes: list[int], first: bytes, header: bool) -> None:
    disk = new_disk()
    write(disk, [key_record(5, KEY), first], *([entry(5, n, size)] for n, size in enumerate(sizes)))
    ids = [each for each in (FIRST_ID, FIRST_ID + 1) if disk.exists(path_of(each))]
    with_groups = ids[-1]
    start = 0 if header else spec.HEADER_SIZE
    patch(disk, start, bytes(FIRST_GROUP - start), with_groups)
    assert f"{path_of(with_groups)} " in refused(disk)


@pytest.mark.parametrize("offset", [0, spec.HEADER_SIZE])
def test_a_start_of_zeros_in_front_of_nothing_is_a_file_that_was_not_made(disk: CrashingDisk, offset: int) -> None:
    write(disk)
    patch(disk, offset, bytes(FIRST_GROUP - offset))
    assert replayed(disk)[0] == []


def test_a_mark_behind_the_end_of_its_file_is_refused(disk: CrashingDisk) -> None:
    write(disk, [entry(1, 0)])
    assert "100000" in refused(disk, LogMark(FIRST_ID, 100_000))


@pytest.mark.parametrize("offset", [513, 517, 1024 + 256, 1536 + 6, 2048, 2560, 5120])
def test_a_mark_where_no_group_ends_is_refused(disk: CrashingDisk, offset: int) -> None:
    """As behind a file that is older than the mark: it has zeros there that were written ahead, or behind a seal."""
    write(disk, [entry(1, 0)])
    assert f"offset {offset} of journal file {path_of()}" in refused(disk, LogMark(FIRST_ID, offset))
    write(disk, [entry(1, 1)])
    assert f"offset {offset} of journal file {path_of()}" in refused(disk, LogMark(FIRST_ID, offset))


@pytest.mark.parametrize("starts", range(1, 5))
def test_a_mark_may_be_where_starts_of_java_that_failed_have_moved_it(disk: CrashingDisk, starts: int) -> None:
    """Each reads a length of zero there, and is behind it then; none has come to a file of its own."""
    write(disk, [entry(1, 0)])
    assert replayed(disk, LogMark(FIRST_ID, 1536 + 4 * starts))[0] == []


def test_a_mark_before_a_group_needs_none_that_ends_there(disk: CrashingDisk) -> None:
    """What is before the mark is needed no more, so it may be damaged."""
    write(disk, [entry(1, 0)], [entry(1, 1)])
    mark = LogMark(FIRST_ID, 1536)
    patch(disk, 1024, bytes(512))
    assert replayed(disk, mark)[0]


@pytest.mark.parametrize("size", range(0, 1024, 7))
def test_a_mark_may_be_at_the_end_of_each_group(disk: CrashingDisk, size: int) -> None:
    journal = new_journal(disk)
    journal.start()
    for entry_id in range(3):
        journal.append([entry(1, entry_id, size)], lambda error: None)
        assert replayed(disk, journal.mark) == ([], Replayed(journal.mark, 0, ()))


def test_a_file_that_is_not_named_like_a_journal_is_refused(disk: CrashingDisk) -> None:
    disk.create(f"{DIRECTORY}/copy of 1.txn")
    assert "copy of 1.txn" in refused(disk)


# Ours, torn or damaged ----------------------------------------------------------------------------------------------

TORN = {
    "zeros at its start": (0, bytes(512)),
    "zeros in its middle": (600, bytes(512)),
    "no seal": (1024, bytes(512)),
    "a flipped bit": (700, b"\xff"),
    "a negative length": (0, b"\x80\0\0\0"),
    "a length beyond the file": (0, b"\x7f\0\0\0"),
    "a length that no record has": (0, b"\0\0\0\5"),
}


@pytest.fixture
def three_groups(disk: CrashingDisk) -> Journal:
    """Groups at 1024, 1536 (three sectors) and 3072."""
    return write(disk, [entry(1, 0)], [entry(1, 1, 500), entry(1, 2, 500)], [entry(1, 3)])


@pytest.mark.parametrize(("at", "data"), TORN.values(), ids=TORN)
def test_a_torn_last_group_is_dropped(disk: CrashingDisk, at: int, data: bytes) -> None:
    write(disk, [entry(1, 0)], [entry(1, 1, 500), entry(1, 2, 500)])
    patch(disk, 1536 + at, data)
    end = LogMark(FIRST_ID, 1536)
    found, result = replayed(disk)
    assert (found, result.mark, result.dropped) == ([(1, 0)], end, (end,))
    # It stays dropped, and is no damage, when a newer file comes after it.
    write(disk, [entry(1, 9)])
    for mark in (BEGINNING, end):
        found, result = replayed(disk, mark)
        assert (found[-1], result.dropped) == ((1, 9), ())


@pytest.mark.parametrize(("at", "data"), TORN.values(), ids=TORN)
def test_a_bad_group_before_a_good_one_is_refused(
    disk: CrashingDisk, three_groups: Journal, at: int, data: bytes
) -> None:
    patch(disk, 1536 + at, data)
    text = refused(disk)
    assert path_of() in text
    assert "offset 1536" in text


@pytest.mark.parametrize(("at", "data"), TORN.values(), ids=TORN)
def test_a_bad_group_before_a_newer_file_is_refused(disk: CrashingDisk, at: int, data: bytes) -> None:
    write(disk, [entry(1, 0)], [entry(1, 1, 500), entry(1, 2, 500)])
    write(disk, [entry(1, 9)])
    patch(disk, 1536 + at, data)
    text = refused(disk)
    assert f"{path_of()} is damaged at offset 1536" in text
    assert path_of(FIRST_ID + 1) in text


def test_a_bad_group_before_a_file_of_javas_is_dropped(disk: CrashingDisk) -> None:
    """Java ran on our directory after a kill of our bookie: it has dropped that group by its own rules."""
    write(disk, [entry(1, 0)], [entry(1, 1)])
    patch(disk, 1536, b"\1" * 20)
    put_file(disk, java_file(entry(2, 0)), FIRST_ID + 1)
    assert replayed(disk)[0] == [(1, 0), (2, 0)]
    write(disk, [entry(1, 9)])
    assert replayed(disk)[0] == [(1, 0), (2, 0), (1, 9)]


def test_a_mark_that_java_left_behind_our_last_group(disk: CrashingDisk) -> None:
    """Java's mark is after the length of zero that it has read."""
    write(disk, [entry(1, 0)])
    put_file(disk, java_file(entry(2, 0)), FIRST_ID + 1)
    found, result = replayed(disk, LogMark(FIRST_ID, 1536 + 4))
    assert (found, result.dropped) == ([(2, 0)], ())


def imitate_a_seal(disk: CrashingDisk, salt: bytes) -> None:
    """Tear a group whose entry holds bytes like a complete sealed group, at exactly the offset in its seal."""
    at = 2048
    inner = entry(6, 6, 440)
    imitation = inner + seal_pad(at, at + len(inner), crc32c.crc32c(inner), salt)
    head = entry(1, 1, 0)[4:]
    body = head + bytes(at - 1536 - codecs.RECORD_LENGTH.size - len(head)) + imitation + bytes(1000)
    write(disk, [entry(1, 0)], [codecs.RECORD_LENGTH.pack(len(body)) + body])
    patch(disk, 1536, bytes(512))


def test_an_entry_that_imitates_a_seal_is_not_taken_for_one(disk: CrashingDisk) -> None:
    """A client that knows the place of its entry still does not know the file's salt."""
    imitate_a_seal(disk, b"notsalty")
    found, result = replayed(disk)
    assert (found, result.dropped) == ([(1, 0)], (LogMark(FIRST_ID, 1536),))


def test_the_salt_is_what_tells_the_imitation(disk: CrashingDisk) -> None:
    imitate_a_seal(disk, SALT)
    assert "2048" in refused(disk)


def test_a_damaged_header_does_not_hide_records(disk: CrashingDisk) -> None:
    write(disk, [entry(1, 0)])
    patch(disk, 0, bytes(512))
    assert replayed(disk)[0] == [(1, 0)]


def test_a_damaged_opening_is_refused(disk: CrashingDisk) -> None:
    write(disk, [entry(1, 0)])
    patch(disk, 512, java_pad(504))
    assert "start of the file is damaged" in refused(disk)


def test_a_file_that_was_only_just_made(disk: CrashingDisk) -> None:
    put_file(disk, b"")
    put_file(disk, bytes(1024), FIRST_ID + 1)
    put_file(disk, java_file(b"", zeros=0), FIRST_ID + 2)
    found, result = replayed(disk)
    assert (found, result.dropped) == ([], ())


# Java's -------------------------------------------------------------------------------------------------------------


def test_what_java_wrote(disk: CrashingDisk) -> None:
    by_name = {vector["name"]: bytes.fromhex(vector["hex"]) for vector in vectors.load("disk")}
    records = by_name["journal key record"] + by_name["journal entry record"]
    pad = by_name["journal pad record, offset 605 to 1024"]
    more = by_name["journal fence record"] + by_name["journal explicit LAC record"]
    put_file(disk, java_file(records + pad + more))
    found, result = replayed(disk)
    assert found == [
        ("key", 0, bytes.fromhex("2e2a69d870796fe05c0e77c52a29ce5e4222b758")),
        (0, 0),
        ("fence", 6),
        ("lac", 5, bytes.fromhex("000000000000000500000000000000019aea0d92")),
    ]
    assert result.mark == LogMark(FIRST_ID, 1024 + len(more))
    assert (512 + len(records), 512 + len(records) + len(pad)) == (605, 1024)


@pytest.mark.parametrize(
    "tail",
    [b"", b"\0\0\0", bytes(4) + entry(1, 1), entry(1, 1)[:-1], b"\xff\xff\xff\0", java_pad(30)[:-1], java_pad(0)],
    ids=["end", "three bytes", "zero length", "short record", "half a pad", "short pad", "pad"],
)
def test_what_ends_a_file_of_javas(disk: CrashingDisk, tail: bytes) -> None:
    put_file(disk, java_file(entry(1, 0) + tail, zeros=0))
    put_file(disk, java_file(entry(1, 2)), FIRST_ID + 1)
    found, result = replayed(disk)
    assert (found, result.dropped) == ([(1, 0), (1, 2)], ())


@pytest.mark.parametrize(
    ("version", "bad"),
    [
        (6, b"\xff\xff\xff\xff"),
        (6, b"\0\0\0\5aaaaa"),
        (6, b"\xff\xff\xff\0\x80\0\0\0" + bytes(8)),
        (6, codecs.RECORD_LENGTH.pack(24) + key_record(1, KEY)[4:28]),
        (4, java_pad(16)),
        (2, key_record(1, KEY)),
        (3, fence_record(1)),
        (5, explicit_lac_record(1, b"x")),
        (7, b""),
    ],
)
def test_what_stops_the_start_in_a_file_of_javas(disk: CrashingDisk, version: int, bad: bytes) -> None:
    put_file(disk, java_file(entry(1, 0) + bad, version))
    assert path_of() in refused(disk)


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_every_version_is_read(disk: CrashingDisk, version: int) -> None:
    data = java_file(entry(1, 0) + entry(1, 1), version)
    put_file(disk, data if version > 1 else data[spec.SHORT_HEADER_SIZE :])
    assert replayed(disk)[0] == [(1, 0), (1, 1)]


def test_unknown_kinds_are_passed_over(disk: CrashingDisk) -> None:
    write(disk, [entry(1, -3), entry(1, -0x4000), entry(1, 0)])
    assert replayed(disk)[0] == [(1, 0)]


# Everything ---------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(st.integers(0, 1500), max_size=5), max_size=8), st.data())
def test_any_cut_of_the_last_group_leaves_the_groups_before_it(sizes: list[list[int]], data: st.DataObject) -> None:
    disk = new_disk()
    groups = [[entry(n, index, size) for index, size in enumerate(group)] for n, group in enumerate(sizes)]
    journal = new_journal(disk, config=Config(journal_size_bytes_max=10**6))
    journal.start()
    ends = []
    for group in groups:
        journal.append(group, lambda error: None)
        ends.append(journal.mark.offset)
    size = disk.open(path_of()).size()
    cut = data.draw(st.integers(FIRST_GROUP, size))
    disk.open(path_of(), writable=True).write(bytes(size - cut), cut)
    whole = sum(end <= cut for end in ends)
    expected = [(n, index) for n, group in enumerate(groups[:whole]) for index in range(len(group))]
    found, _ = replayed(disk)
    # Zeros may cut a group's pad record after its seal, which changes nothing.
    assert found[: len(expected)] == expected
    assert len({ledger_id for ledger_id, _ in found[len(expected) :]}) <= 1


@pytest.mark.parametrize("seed", range(20))
def test_what_a_kill_left_in_the_page_cache_is_on_the_disk_before_the_mark_names_it(seed: int) -> None:
    disk = CrashingDisk(seed)
    disk.make_directories(DIRECTORY)
    disk.syncs_lie = True  # a kill between a write and its sync
    write(disk, [entry(7, 0, 20_000)])
    disk.syncs_lie = False
    mark = replay(disk, DIRECTORY, BEGINNING, Sink()).mark
    disk.restart()
    assert replay(disk, DIRECTORY, mark, Sink()).mark == mark


# Ledgers outside scope 0 ---------------------------------------------------------------------------------------------


def test_scoped_records_of_every_kind_come_back_in_order(disk: CrashingDisk) -> None:
    other = SCOPED + 1
    body = b"\xa4" + SCOPED.to_bytes(16, "big") + (3).to_bytes(8, "big")
    records = [
        key_record(SCOPED, KEY),
        *(entry(SCOPED, at) for at in range(3)),
        entry(other, 3),
        entry(7, 4),
        entry(SCOPED, 3),
        fence_record(SCOPED),
        explicit_lac_record(SCOPED, body),
        deleted_record(SCOPED),
        deleted_record(7),
    ]
    write(disk, records)
    found, result = replayed(disk)
    entries = [(SCOPED, 0), (SCOPED, 1), (SCOPED, 2), (other, 3), (7, 4), (SCOPED, 3)]
    ended = [("fence", SCOPED), ("lac", SCOPED, body), ("deleted", SCOPED), ("deleted", 7)]
    assert found == [("key", SCOPED, KEY), *entries, *ended]
    assert result.entry_count == 6


@pytest.mark.parametrize("version", [5, 6])
@pytest.mark.parametrize("record", [entry(SCOPED, 0), key_record(SCOPED, KEY), fence_record(SCOPED)])
def test_a_scoped_record_in_a_file_of_an_older_version_is_refused(
    disk: CrashingDisk, version: int, record: bytes
) -> None:
    put_file(disk, java_file(entry(7, 0) + record, version))
    assert f"has version {version}, but a record of ledger {SCOPED:032x}" in refused(disk)


@pytest.mark.parametrize("first", [b"\xb1", b"\x80", b"\xff"])
def test_a_record_of_an_unknown_format_in_a_file_of_version_7_is_refused(disk: CrashingDisk, first: bytes) -> None:
    record = entry(SCOPED, 0)
    write(disk, [record], [record[:4] + first + record[5:]])
    assert "a record of an unknown format" in refused(disk)


@pytest.mark.parametrize("offset", [4, 7, 300, 512 + 8, 512 + 16, 512 + 30, 512 + 35])
def test_a_damaged_start_of_a_file_of_version_7_is_refused(disk: CrashingDisk, offset: int) -> None:
    write(disk, [entry(SCOPED, 0)])
    found = disk.read(path_of(FIRST_ID + 1))[offset]
    patch(disk, offset, bytes([found ^ 1]), FIRST_ID + 1)
    refused(disk)


def test_a_file_of_version_7_that_a_crash_kept_from_being_made_is_empty(disk: CrashingDisk) -> None:
    """Its header is on the disk, but the seal after it, in another sector, is not."""
    put_file(disk, spec.HEADER.build({"version": 7}).ljust(4096, b"\0"))
    assert replayed(disk)[0] == []
    journal = write(disk, [entry(SCOPED, 0)])
    assert journal.mark.journal_id == FIRST_ID + 2
    assert replayed(disk)[0] == [(SCOPED, 0)]


def test_the_version_before_ours_refuses_a_file_of_version_7(disk: CrashingDisk) -> None:
    """It recognizes our files by a first seal that names its own offset, and reads other files up to version 6."""
    write(disk, [entry(SCOPED, 0)])
    seal = SEAL_PAD.unpack_from(disk.read(path_of(FIRST_ID + 1)), spec.HEADER_SIZE)
    assert seal[4] == 0


@pytest.mark.parametrize("offset", [spec.HEADER_SIZE + 16, FIRST_GROUP + 24 + 20])
def test_a_damaged_salt_is_no_torn_group(disk: CrashingDisk, offset: int) -> None:
    """The salt of the file, or of its only group."""
    entry_record = entry(7, 0, 4)
    assert len(entry_record) == 24
    write(disk, [entry_record])
    patch(disk, offset, b"?")
    assert "salt" in refused(disk)


def test_a_torn_scoped_group_is_cut_off(disk: CrashingDisk) -> None:
    journal = write(disk, [entry(SCOPED, 0)])
    whole = journal.mark
    journal.append([entry(SCOPED, 1, 3000)], lambda error: None)
    patch(disk, whole.offset + 1024, bytes(512), FIRST_ID + 1)
    found, result = replayed(disk)
    assert found == [(SCOPED, 0)]
    assert result.dropped == (whole,)


@given(st.lists(st.lists(st.integers(0, 1500), min_size=1, max_size=4), min_size=1, max_size=6), st.data())
def test_any_cut_of_a_scoped_file_leaves_the_groups_before_it(sizes: list[list[int]], data: st.DataObject) -> None:
    disk = new_disk()
    groups = [[entry(SCOPED + n, index, size) for index, size in enumerate(group)] for n, group in enumerate(sizes)]
    journal = new_journal(disk, config=Config(journal_size_bytes_max=10**6))
    journal.start()
    ends = []
    for group in groups:
        journal.append(group, lambda error: None)
        ends.append(journal.mark.offset)
    path = path_of(FIRST_ID + 1)
    size = disk.open(path).size()
    cut = data.draw(st.integers(FIRST_GROUP, size))
    disk.open(path, writable=True).write(bytes(size - cut), cut)
    whole = sum(end <= cut for end in ends)
    expected = [(SCOPED + n, index) for n, group in enumerate(groups[:whole]) for index in range(len(group))]
    found, _ = replayed(disk)
    assert found[: len(expected)] == expected
    assert len({ledger_id for ledger_id, _ in found[len(expected) :]}) <= 1


LEDGER_IDS = st.sampled_from([0, 7, 2**63 - 1, SCOPED, SCOPED + 1, 2**128 - 1])


@given(st.lists(st.tuples(LEDGER_IDS, st.sampled_from(["key", "fence", "lac", 0, 1, 2]), st.integers(0, 40))))
def test_records_of_both_formats_are_told_apart(drawn: list[tuple[int, Any, int]]) -> None:
    disk = new_disk()
    records: list[bytes] = [key_record(SCOPED, KEY)]
    expected: list[Any] = [("key", SCOPED, KEY)]
    for ledger_id, kind, size in drawn:
        if kind == "key":
            records.append(key_record(ledger_id, KEY))
            expected.append(("key", ledger_id, KEY))
        elif kind == "fence":
            records.append(fence_record(ledger_id))
            expected.append(("fence", ledger_id))
        elif kind == "lac":
            records.append(explicit_lac_record(ledger_id, bytes(size)))
            expected.append(("lac", ledger_id, bytes(size)))
        else:
            records.append(entry(ledger_id, kind, size))
            expected.append((ledger_id, kind))
    write(disk, records)
    found, result = replayed(disk)
    assert found == expected
    assert result.entry_count == sum(type(kind) is int for _, kind, _ in drawn)

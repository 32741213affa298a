from random import Random

import pytest

from bookkeeper_tx.bookie.storage import entry_log_scan
from bookkeeper_tx.bookie.storage.entry_location import location, split_location
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.entry_log_format import header, ledgers_map, log_name
from bookkeeper_tx.bookie.storage.entry_log_scan import Damaged, scan
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.disk import entry_log as spec
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import LEDGER, SCOPED, entry, run_of
from tests.bookie.storage.storages import log_directories

PATH = f"{DIRECTORY}/3.log"


def found(disk: CrashingDisk, name: str = "3.log", scoped: bool = False) -> list[tuple[int, int, int, bytes]]:
    """Return ledger, entry, location and bytes of each entry that a scan finds."""
    file = disk.open(f"{DIRECTORY}/{name}")
    entries = []
    for runs in scan(file, int(name.partition(".")[0], 16), scoped):
        for placed in runs:
            run = placed.run
            for index, each in enumerate(run):
                where = placed.base + run.offsets[index]
                entries.append((run.ledger_id, run.first_entry_id + index, where, each))
    return entries


def stored(disk: CrashingDisk, content: bytes, start: bytes = header()) -> None:
    file = disk.create(PATH)
    file.write(start + content, 0)


def records(*runs: EntryRun) -> bytes:
    return b"".join(bytes(run.records(run.first_entry_id, run.count)) for run in runs)


@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("chunk_size", [64, 1000, 1024 * 1024])
def test_every_record_is_found_once_with_its_location(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch, scoped: bool, chunk_size: int
) -> None:
    monkeypatch.setattr(entry_log_scan, "CHUNK_SIZE", chunk_size)
    random = Random(chunk_size)
    writer = EntryLogWriter(disk, log_directories(disk), 1 << 30)
    writer.start()
    runs, next_ids = [], dict.fromkeys(range(5), 0)
    for _ in range(60):
        number = random.randrange(5)
        sizes = random.choice(([50] * 40, [41, 300, 43], [60], [2500]))
        runs.append(run_of(next_ids[number], *sizes, ledger_id=SCOPED + number if scoped else number))
        next_ids[number] += len(sizes)
    placed = writer.write([(run.ledger_id, [run]) for run in runs])
    expected = []
    for run, (_, (place,)) in zip(runs, placed, strict=True):
        for index, each in enumerate(run):
            expected.append((run.ledger_id, run.first_entry_id + index, place.base + run.offsets[index], each))
    assert found(disk, log_name(0, scoped), scoped) == expected


def test_the_ledgers_map_and_what_java_puts_between_are_no_entries(disk: CrashingDisk) -> None:
    first, second = run_of(0, 41, 41), run_of(7, 60, ledger_id=9)
    filler = b"\xf0" * (4096 - (1024 + first.size) % 4096)
    stored(disk, records(first) + filler + records(second) + ledgers_map({LEDGER: 90, 9: 64}) + bytes(5000))
    assert [each[:2] for each in found(disk)] == [(LEDGER, 0), (LEDGER, 1), (9, 7)]
    where = split_location(found(disk)[-1][2])
    assert where == (3, 4096)


def test_java_s_direct_header_is_passed_over(disk: CrashingDisk) -> None:
    dummy = (3068).to_bytes(4, "big") + b"\xff" * 8 + bytes(3060)
    stored(disk, dummy + records(run_of(0, 41)))
    assert found(disk) == [(LEDGER, 0, location(3, 4096), entry(0, 41))]


@pytest.mark.parametrize("cut", [1, 3, 4, 20, 44])
def test_a_record_that_a_kill_has_cut_off_ends_the_log(disk: CrashingDisk, cut: int) -> None:
    whole = records(run_of(0, 41, 41))
    stored(disk, whole[:-cut])
    assert [each[1] for each in found(disk)] == [0]


@pytest.mark.parametrize(
    "content",
    [
        bytes(4) + b"x" * 60,
        b"\xff\xff\xff\xf0" + b"x" * 60,
        (7).to_bytes(4, "big") + b"x" * 60,
        (1 << 30).to_bytes(4, "big") + b"x" * 60,
        (40).to_bytes(4, "big") + b"\xff" * 7 + b"\xfe" + bytes(52),
    ],
    ids=["zeros before bytes", "negative", "too short", "too long", "of no ledger"],
)
def test_bytes_that_are_no_record_are_damage(disk: CrashingDisk, content: bytes) -> None:
    stored(disk, records(run_of(0, 41)) + content)
    with pytest.raises(Damaged, match=r"3\.log is damaged at offset 1069"):
        found(disk)


@pytest.mark.parametrize("ledger_id", [LEDGER, SCOPED])
@pytest.mark.parametrize("behind", [b"", bytes(700), b"\0\0\1\0" + b"x"], ids=["nothing", "zeros", "a torn record"])
def test_a_length_that_passes_the_end_hides_no_records(disk: CrashingDisk, ledger_id: int, behind: bytes) -> None:
    """As a flipped bit makes it: were it the last record, those behind it would be lost in a compaction."""
    content = bytearray(records(run_of(0, 60, 60, ledger_id=ledger_id), run_of(9, 300, ledger_id=ledger_id + 3)))
    content[64 + 1] ^= 0x10
    stored(disk, bytes(content) + (behind and records(run_of(0, 60, ledger_id=ledger_id + 5)) + behind))
    with pytest.raises(Damaged, match="damaged at offset 1088: it has records behind one"):
        found(disk, scoped=ledger_id == SCOPED)


@pytest.mark.parametrize("ledger_id", [LEDGER, SCOPED])
@pytest.mark.parametrize("payload", [bytes(3000), Random(1).randbytes(3000), b"\1" * 3000])
def test_a_torn_record_is_no_damage_whatever_its_payload(disk: CrashingDisk, ledger_id: int, payload: bytes) -> None:
    head = records(run_of(1, 60, ledger_id=ledger_id))[4:50]
    stored(disk, records(run_of(0, 60, ledger_id=ledger_id)) + (4000).to_bytes(4, "big") + head + payload)
    assert [each[1] for each in found(disk, scoped=ledger_id == SCOPED)] == [0]


def test_an_end_before_the_ledgers_map_is_damage(disk: CrashingDisk) -> None:
    content = records(run_of(0, 41, 41))
    for whole in (bytes(45), content[45:-1]):
        disk.remove(PATH) if disk.exists(PATH) else None
        stored(disk, content[:45] + whole, header(1024 + len(content), 1))
        with pytest.raises(Damaged, match=r"3\.log ends at offset 1069, before its map at 1114"):
            found(disk)


def test_a_record_longer_than_a_chunk_is_read_whole(disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_log_scan, "CHUNK_SIZE", 100)
    stored(disk, records(run_of(0, 5000, 41, 90_000)))
    assert [len(each[3]) for each in found(disk)] == [5000, 41, 90_000]


def test_an_empty_log_has_nothing(disk: CrashingDisk) -> None:
    stored(disk, b"")
    assert found(disk) == []
    assert spec.HEADER_SIZE == 1024

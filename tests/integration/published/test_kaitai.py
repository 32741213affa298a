"""The ``.ksy`` files, compiled: their parsers agree with the vectors, the codecs and our own files."""

import io
from types import ModuleType
from typing import Any

import kaitaistruct
import pytest
from construct import Construct

from bookkeeper_tx.bookie.journal.records import key_record
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.entry_log_format import log_name
from protocol_specs import vectors
from protocol_specs.disk import entry_log, journal, meta_entries
from protocol_specs.entry import v1, v2
from protocol_specs.entry.digest import DIGESTS
from protocol_specs.kaitai import generate
from protocol_specs.vectors.cases import Case, all_cases, by_name
from protocol_specs.wire import framing
from tests.bookie.crashing_disk import CrashingDisk, new_disk
from tests.bookie.journal import journals
from tests.bookie.seams import SCOPED, run_of
from tests.bookie.storage.storages import log_directories
from tests.integration.published.kaitai_compiler import compiled

pytestmark = pytest.mark.node

CASES = all_cases()
SIZES = {digest.name: digest.size for digest in DIGESTS}
DISK = {vector["name"]: bytes.fromhex(vector["hex"]) for vector in vectors.load("disk")}


def of(*specs: str) -> list[Case]:
    """Return the vectors of these declarations; each has some."""
    cases = [case for case in CASES if case.spec in specs]
    assert {case.spec for case in cases} == set(specs)
    return cases


@pytest.fixture(scope="session")
def parsers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModuleType]:
    return compiled(sorted(generate.ROOM.glob("*.ksy")), tmp_path_factory.mktemp("kaitai"))


def parsed_by(parser: Any, data: bytes, *parameters: Any) -> Any:
    """Read ``data``, all of it."""
    stream = kaitaistruct.KaitaiStream(io.BytesIO(data))
    return parser(*parameters, stream)


def same(parsed: Any, declaration: Construct, data: bytes, leaving_out: tuple[str, ...] = ()) -> None:
    """Compare what Kaitai Struct read with what construct reads, field by field."""
    read = declaration.parse(data)
    for subcon in declaration.subcons:
        if subcon.name not in leaving_out and read[subcon.name] is not None:
            _same_value(subcon.name, getattr(parsed, subcon.name), read[subcon.name])


def _same_value(name: str, found: Any, expected: Any) -> None:
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for each, wanted in zip(found, expected, strict=True):
            if isinstance(wanted, bytes):
                assert each.body == wanted
            else:
                assert {field: getattr(each, field) for field in wanted if field != "_io"} == {
                    field: value for field, value in wanted.items() if field != "_io"
                }
    else:
        assert getattr(found, "value", found) == expected, name


# Frames --------------------------------------------------------------------------------------------------------------

FRAMES = sorted({case.spec for case in CASES if case.spec.startswith("wire/v2.") and case.spec.endswith("_FRAME")})


def test_frames(parsers: dict[str, ModuleType]) -> None:
    for case in of(*FRAMES):
        check_frame(parsers, case)


def check_frame(parsers: dict[str, ModuleType], case: Case) -> None:
    declaration = by_name()[case.spec.removesuffix("_FRAME")].value
    is_reply = "REPLY" in case.spec or case.name.endswith(", reply")
    (frame,) = parsed_by(parsers["bookkeeper_v2"].BookkeeperV2, case.data, is_reply).frames
    body = framing.FRAME.parse(case.data).body
    assert frame.length == len(body)
    same(frame.packet.message, declaration, body)
    version, operation, flags = framing.split_header(case.fields["header"])
    packet = frame.packet
    assert (packet.version, packet.operation.value, packet.flags) == (version, operation, flags)


def test_frames_lie_one_behind_the_other(parsers: dict[str, ModuleType]) -> None:
    replies = [case.data for case in CASES if case.spec == "wire/v2.READ_REPLY_FRAME"]
    found = parsed_by(parsers["bookkeeper_v2"].BookkeeperV2, b"".join(replies), True).frames
    assert [4 + frame.length for frame in found] == list(map(len, replies))


# Entries -------------------------------------------------------------------------------------------------------------


def test_entries(parsers: dict[str, ModuleType]) -> None:
    for case in of("entry/v1.ENTRY", "entry/v2.ENTRY"):
        check_entry(parsers, case)


def check_entry(parsers: dict[str, ModuleType], case: Case) -> None:
    is_v2 = case.spec.startswith("entry/v2")
    size = 99 if is_v2 else SIZES[case.fields["digest_type"]]  # format V2 says it itself
    content = parsed_by(parsers["bookkeeper_entry"].BookkeeperEntry, case.data, size).content
    for name, value in case.fields.items():
        if name not in ("digest_type", "password"):
            found = getattr(content, name)
            assert (found.hex() if isinstance(found, bytes) else found) == value
    same(content, by_name()[case.spec].value, case.data, leaving_out=("digest_and_payload",))


def test_an_entry_of_no_known_format_is_refused(parsers: dict[str, ModuleType]) -> None:
    with pytest.raises(kaitaistruct.ValidationFailedError):
        parsed_by(parsers["bookkeeper_entry"].BookkeeperEntry, b"\xb1" + bytes(60), 4)


# Journal -------------------------------------------------------------------------------------------------------------

RECORDS = [
    ("journal key record", meta_entries.BLOB_RECORD),
    ("journal entry record", journal.RECORD),
    ("journal pad record, offset 605 to 1024", journal.PAD),
    ("journal fence record", meta_entries.FENCE_RECORD),
    ("journal explicit LAC record", meta_entries.BLOB_RECORD),
]
"""Records as a Java bookie wrote them; the first three follow one another in one file."""


def scoped_records() -> list[tuple[str, Construct]]:
    specs = {
        "disk/meta_entries.SCOPED_BLOB_RECORD": meta_entries.SCOPED_BLOB_RECORD,
        "disk/meta_entries.SCOPED_FENCE_RECORD": meta_entries.SCOPED_FENCE_RECORD,
        "disk/journal.SCOPED_RECORD": journal.SCOPED_RECORD,
        "entry/v2.ENTRY_RECORD": v2.ENTRY_RECORD,
    }
    return [(case.name, specs[case.spec]) for case in CASES if case.spec in specs]


def test_a_journal(parsers: dict[str, ModuleType]) -> None:
    records = RECORDS + scoped_records()
    assert {declaration for _, declaration in records} >= {
        meta_entries.SCOPED_BLOB_RECORD,
        meta_entries.SCOPED_FENCE_RECORD,
        journal.SCOPED_RECORD,
    }
    header = DISK["journal header, before its zeros"]
    data = header.ljust(journal.HEADER_SIZE, b"\0") + b"".join(DISK[name] for name, _ in records)
    parsed = parsed_by(parsers["bookkeeper_journal"].BookkeeperJournal, data + bytes(4096))
    same(parsed.header, journal.HEADER, header)
    assert len(parsed.records) == len(records) + 1
    assert parsed.records[-1].length == journal.END_OF_LOG
    for record, (name, declaration) in zip(parsed.records, records, strict=False):
        if declaration is journal.PAD:
            assert record.pad.size == declaration.parse(DISK[name]).size
            assert not record.pad.body.is_seal
        else:
            assert record.length == len(DISK[name]) - 4
            same(record.body.content, declaration, DISK[name], leaving_out=("length",))


def test_a_journal_of_ours(parsers: dict[str, ModuleType]) -> None:
    disk = new_disk()
    ours = journals.new_journal(disk)
    ours.start()
    ours.append([key_record(7, b"k" * 20)], lambda error: None)
    data = disk.read(journals.path_of())
    parsed = parsed_by(parsers["bookkeeper_journal"].BookkeeperJournal, data)
    first, key, second, end = parsed.records
    assert key.body.kind == meta_entries.LEDGER_KEY
    assert (key.body.content.ledger_id, key.body.content.blob) == (7, b"k" * 20)
    assert end.length == journal.END_OF_LOG
    at = journal.HEADER_SIZE
    for record, size in ((first, 0), (second, 4 + key.length)):
        at += size
        assert record.pad.body.is_seal
        same(record.pad.body.seal, journal.SEAL_PAD, data[at : at + journal.SEAL_PAD_SIZE], ("mask", "size"))
        at += 8 + record.pad.size


# Entry log -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ledger_id", [5, SCOPED], ids=["scope 0", "another scope"])
def test_an_entry_log(parsers: dict[str, ModuleType], ledger_id: int) -> None:
    disk = CrashingDisk()
    disk.make_directories("/data")
    writer = EntryLogWriter(disk, log_directories(disk, "/data"), 3000)
    writer.start()
    runs = [run_of(first, 900, ledger_id=ledger_id) for first in range(4)]
    writer.write([(ledger_id, runs)])
    scoped = ledger_id == SCOPED
    data = disk.read(f"/data/{log_name(0, scoped)}")
    parsed = parsed_by(parsers["bookkeeper_entry_log"].BookkeeperEntryLog, data)
    same(parsed.header, entry_log.HEADER, data[: entry_log.HEADER.sizeof()])
    record_of = v2.ENTRY_RECORD if scoped else v1.ENTRY_RECORD
    assert len(parsed.entries.records) > 1
    for record, run in zip(parsed.entries.records, runs, strict=False):
        same(record.body, record_of, bytes(run.buffer), leaving_out=("length",))
    (batch,) = parsed.ledgers_map.batches
    kind = entry_log.SCOPED_LEDGERS_MAP_BATCH if scoped else entry_log.LEDGERS_MAP_BATCH
    same(batch, kind, data[parsed.header.ledgers_map_offset :])


def test_ledgers_maps(parsers: dict[str, ModuleType]) -> None:
    for case in of("disk/entry_log.LEDGERS_MAP_BATCH", "disk/entry_log.SCOPED_LEDGERS_MAP_BATCH"):
        check_ledgers_map(parsers, case)


def check_ledgers_map(parsers: dict[str, ModuleType], case: Case) -> None:
    version = entry_log.SCOPED_VERSION if "SCOPED" in case.spec else entry_log.VERSION
    values = {"magic": entry_log.MAGIC, "version": version, "ledgers_map_offset": 1024, "ledgers_map_count": 2}
    header = entry_log.HEADER.build(values).ljust(entry_log.HEADER_SIZE, b"\0")
    parsed = parsed_by(parsers["bookkeeper_entry_log"].BookkeeperEntryLog, header + case.data * 2)
    for batch in parsed.ledgers_map.batches:
        same(batch, by_name()[case.spec].value, case.data)
    assert len(parsed.ledgers_map.batches) == 2


def test_every_file_is_compiled(parsers: dict[str, ModuleType]) -> None:
    assert {f"{name}.ksy" for name in parsers} == set(generate.files())

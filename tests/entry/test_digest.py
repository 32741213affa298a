"""Master key and the four digests against bytes of Java, and the refusals of verification."""

import hashlib
import hmac
import zlib
from collections.abc import Callable
from typing import Any

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.entry.digest import METADATA_SIZE, EntryDigest, master_key
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import DigestMismatch
from bookkeeper_tx.model import DigestType, ledger_name
from protocol_specs import vectors
from protocol_specs.entry import digest as specs
from protocol_specs.ledger_id import SCOPED_MIN, join

VECTORS = vectors.load("entry")
TYPES = {kind.value.name: kind for kind in DigestType}
every_type = pytest.mark.parametrize("kind", DigestType, ids=lambda kind: kind.name)
SCOPED = join(-5, -7)
"""A ledger id of which both halves are negative."""
every_format = pytest.mark.parametrize("ledger", [1, SCOPED], ids=["V1", "V2"])
LEDGER_IDS = st.one_of(st.integers(0, 2**63 - 1), st.integers(SCOPED_MIN, 2**128 - 1))


def _of(spec: str) -> Any:
    return pytest.mark.parametrize(
        "vector", [pytest.param(each, id=each["name"]) for each in VECTORS if each["spec"] == spec]
    )


def _digest(fields: dict[str, Any]) -> EntryDigest:
    return EntryDigest(TYPES[fields["digest_type"]], bytes.fromhex(fields["password"]))


REFERENCES: dict[DigestType, Callable[..., bytes]] = {
    DigestType.CRC32: lambda covered, password=b"": bytes(4) + zlib.crc32(covered).to_bytes(4, "big"),
    DigestType.CRC32C: lambda covered, password=b"": crc32c.crc32c(covered).to_bytes(4, "big"),
    DigestType.MAC: lambda covered, password=b"testPasswd": hmac.digest(
        hashlib.sha1(b"mac" + password).digest(), covered, "sha1"
    ),
    DigestType.DUMMY: lambda covered, password=b"": b"",
}

# Vectors -------------------------------------------------------------------------------------------------------------


@_of("entry/digest.master_key")
def test_master_key(vector: dict[str, Any]) -> None:
    password = bytes.fromhex(vector["fields"]["password"])
    assert master_key(password).hex() == vector["hex"]
    assert EntryDigest(DigestType.DUMMY, password).master_key.hex() == vector["hex"]


@_of("entry/v1.ENTRY")
def test_entry(vector: dict[str, Any]) -> None:
    entry, fields = bytes.fromhex(vector["hex"]), vector["fields"]
    ids = [fields[name] for name in ("ledger_id", "entry_id", "last_add_confirmed", "length")]
    payload = bytes.fromhex(fields["payload"])
    ours = _digest(fields)
    assert ours.seal(*ids, payload) == entry
    assert ours.verify(ids[0], ids[1], entry) == (*ids[1:], payload)
    assert ours.verify(ids[0], None, entry)[0] == ids[1]
    assert entry[METADATA_SIZE : METADATA_SIZE + ours.size].hex() == fields["digest"]
    run = EntryRun.of_entries(ids[0], ids[1], [entry])
    assert ours.verify_run(run) == [payload]


@_of("entry/v2.ENTRY")
def test_entry_of_a_scoped_ledger(vector: dict[str, Any]) -> None:
    entry, fields = bytes.fromhex(vector["hex"]), vector["fields"]
    ledger_id = join(fields["ledger_scope_id"], fields["ledger_id"])
    values = [fields[name] for name in ("entry_id", "last_add_confirmed", "length")]
    payload = bytes.fromhex(fields["payload"])
    ours = _digest(fields)
    halves = [fields[name].to_bytes(8, "big", signed=True) for name in ("ledger_scope_id", "ledger_id")]
    numbers = b"".join(value.to_bytes(8, "big") for value in values)
    metadata = bytes([0xA0 | ours.digest_type.value.number]) + b"".join(halves) + numbers
    assert entry == metadata + REFERENCES[ours.digest_type](metadata + payload) + payload
    assert len(metadata) == 41
    assert ours.seal(ledger_id, *values, payload) == entry
    assert ours.verify(ledger_id, values[0], entry) == (*values, payload)
    assert ours.verify(ledger_id, None, entry)[0] == values[0]
    assert ours.verify_run(EntryRun.of_entries(ledger_id, values[0], [entry])) == [payload]
    assert entry[ours.payload_offset_of(ledger_id) :] == payload


@_of("entry/v2.LAC_METADATA")
def test_explicit_last_add_confirmed_of_a_scoped_ledger(vector: dict[str, Any]) -> None:
    body, fields = bytes.fromhex(vector["hex"]), vector["fields"]
    ledger_id = join(fields["ledger_scope_id"], fields["ledger_id"])
    ours = _digest(fields)
    assert body == body[:25] + REFERENCES[ours.digest_type](body[:25])
    assert ours.seal_last_add_confirmed(ledger_id, fields["last_add_confirmed"]) == body
    assert ours.verify_last_add_confirmed(ledger_id, body) == fields["last_add_confirmed"]


@_of("entry/v1.LAC_METADATA")
def test_explicit_last_add_confirmed(vector: dict[str, Any]) -> None:
    body, fields = bytes.fromhex(vector["hex"]), vector["fields"]
    ours = _digest(fields)
    assert ours.seal_last_add_confirmed(fields["ledger_id"], fields["last_add_confirmed"]) == body
    assert ours.verify_last_add_confirmed(fields["ledger_id"], body) == fields["last_add_confirmed"]


def test_crc_check_values() -> None:
    """The published ones, and for CRC-32C those of RFC 3720, B.4."""
    for vector in VECTORS:
        if "check value" in vector["name"]:
            crc = {"entry/digest.CRC32": zlib.crc32, "entry/digest.CRC32C": crc32c.crc32c}[vector["spec"]]
            assert f"{crc(bytes.fromhex(vector['fields']['covered'])):08x}" == vector["hex"]
    for covered, value in (
        (b"", 0),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ):
        assert crc32c.crc32c(covered) == value


def test_every_digest_type_is_declared() -> None:
    assert {kind.value for kind in DigestType} == set(specs.DIGESTS)
    assert {each.number: (each.name, each.size) for each in specs.DIGESTS} == {
        1: ("CRC32", 8),
        2: ("HMAC", 20),
        3: ("CRC32C", 4),
        4: ("DUMMY", 0),
    }
    assert all(specs.BY_NUMBER[each.number] is each for each in specs.DIGESTS)


# Coverage ------------------------------------------------------------------------------------------------------------


@every_type
@given(payload=st.binary(max_size=100), length=st.integers(0, 2**40))
def test_the_digest_covers_metadata_and_payload_as_one_string(kind: DigestType, payload: bytes, length: int) -> None:
    entry = EntryDigest(kind, b"testPasswd").seal(7, 5, 4, length, payload)
    metadata, digest = entry[:32], entry[32 : 32 + kind.value.size]
    assert digest == REFERENCES[kind](metadata + payload)


# Refusals ------------------------------------------------------------------------------------------------------------


@every_type
@given(payload=st.binary(max_size=60), ledger_id=LEDGER_IDS, entry_id=st.integers(0, 2**63 - 1))
def test_what_is_sealed_verifies(kind: DigestType, payload: bytes, ledger_id: int, entry_id: int) -> None:
    ours = EntryDigest(kind, b"secret")
    entry = ours.seal(ledger_id, entry_id, entry_id - 1, len(payload), payload)
    assert ours.verify(ledger_id, entry_id, entry) == (entry_id, entry_id - 1, len(payload), payload)


@pytest.mark.parametrize("kind", [DigestType.CRC32, DigestType.CRC32C, DigestType.MAC], ids=lambda kind: kind.name)
@every_format
def test_every_flipped_bit_is_noticed(kind: DigestType, ledger: int) -> None:
    ours = EntryDigest(kind, b"secret")
    entry = ours.seal(ledger, 2, 1, 5, b"hello")
    for bit in range(8 * len(entry)):
        bad = bytearray(entry)
        bad[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DigestMismatch):
            ours.verify(ledger, 2, bytes(bad))
        with pytest.raises(DigestMismatch):
            ours.verify(ledger, None, bytes(bad))
        assert ours.verify_run(EntryRun.of_entries(ledger, 2, [bytes(bad)])) == []


@every_type
@every_format
def test_an_entry_shorter_than_metadata_and_digest_is_refused(kind: DigestType, ledger: int) -> None:
    ours = EntryDigest(kind, b"secret")
    entry = ours.seal(ledger, 2, 1, 0, b"")
    assert ours.verify(ledger, 2, entry)[3] == b""
    assert len(entry) == ours.payload_offset_of(ledger)
    for size in range(len(entry)):
        with pytest.raises(DigestMismatch, match=f"only {size} bytes"):
            ours.verify(ledger, 2, entry[:size])
        assert ours.verify_run(EntryRun.of_entries(ledger, 2, [entry[:size]])) == []


@every_type
@pytest.mark.parametrize(("ledger_id", "entry_id"), [(1, 3), (7, 2), (7, None)])
def test_an_entry_of_other_ids_is_refused(kind: DigestType, ledger_id: int, entry_id: int | None) -> None:
    ours = EntryDigest(kind, b"secret")
    with pytest.raises(DigestMismatch, match="got 1/2"):
        ours.verify(ledger_id, entry_id, ours.seal(1, 2, 1, 5, b"hello"))


def test_another_password_or_type_is_refused() -> None:
    entry = EntryDigest(DigestType.MAC, b"secret").seal(1, 2, 1, 40, b"x" * 40)
    with pytest.raises(DigestMismatch):
        EntryDigest(DigestType.MAC, b"other").verify(1, 2, entry)
    for kind in (DigestType.CRC32, DigestType.CRC32C):
        with pytest.raises(DigestMismatch):
            EntryDigest(kind, b"secret").verify(1, 2, entry)


@every_type
@every_format
@pytest.mark.parametrize("bad", range(4))
def test_a_run_gives_the_prefix_before_its_first_bad_entry(kind: DigestType, ledger: int, bad: int) -> None:
    ours = EntryDigest(kind, b"secret")
    entries = [ours.seal(ledger, 5 + at, 4, at, b"payload %d" % at) for at in range(4)]
    entries[bad] = ours.seal(ledger, 99, 4, 0, b"of another id")
    payloads = ours.verify_run(EntryRun.of_entries(ledger, 5, entries))
    assert payloads == [b"payload %d" % at for at in range(bad)]


@every_type
@every_format
@pytest.mark.parametrize("bad", [0, 9, 20])
def test_a_run_of_entries_of_one_size_too(kind: DigestType, ledger: int, bad: int) -> None:
    ours = EntryDigest(kind, b"secret")
    entries = [ours.seal(ledger, 5 + at, 4, at, b"payload %02d" % at) for at in range(20)]
    if bad < len(entries):
        entries[bad] = ours.seal(ledger + 1, 5 + bad, 4, 0, b"payload XX")
    buffer = b"".join(len(each).to_bytes(4, "big") + each for each in entries)
    run = EntryRun(ledger, 5, buffer, range(0, len(buffer) + 1, 4 + len(entries[0])))
    assert ours.verify_run(run) == [b"payload %02d" % at for at in range(bad)][:20]


@every_type
def test_an_entry_in_the_format_of_another_ledger_is_refused(kind: DigestType) -> None:
    """An entry of a scoped ledger whose flags name another digest type; a V1 entry for V2, and a V2 entry for V1."""
    ours = EntryDigest(kind, b"secret")
    entry = ours.seal(SCOPED, 2, 1, 40, b"x" * 40)
    flags = bytes([0xA0 | kind.value.number % 4 + 1])
    other = flags + entry[1:41]
    other += REFERENCES[kind](other + b"x" * 40, b"secret") + b"x" * 40
    with pytest.raises(DigestMismatch, match="starts with 0xa"):
        ours.verify(SCOPED, 2, other)
    lac = flags + ours.seal_last_add_confirmed(SCOPED, 1)[1:25]
    with pytest.raises(DigestMismatch, match="starts with 0xa"):
        ours.verify_last_add_confirmed(SCOPED, lac + REFERENCES[kind](lac, b"secret"))
    for ledger, bad in ((SCOPED, other), (SCOPED, ours.seal(7, 2, 1, 40, b"x" * 40)), (7, entry)):
        with pytest.raises(DigestMismatch):
            ours.verify(ledger, 2, bad)
        assert ours.verify_run(EntryRun.of_entries(ledger, 2, [bad])) == []
        assert (
            ours.verify_run(EntryRun(ledger, 2, 8 * (bytes(4) + bad), range(0, 8 * len(bad) + 33, len(bad) + 4))) == []
        )


@every_type
@every_format
def test_a_bad_explicit_last_add_confirmed_is_refused(kind: DigestType, ledger: int) -> None:
    ours = EntryDigest(kind, b"secret")
    body = ours.seal_last_add_confirmed(ledger, 8)
    for bad in (*(body[:size] for size in range(len(body))), body + b"x"):
        with pytest.raises(DigestMismatch):
            ours.verify_last_add_confirmed(ledger, bad)
    with pytest.raises(DigestMismatch, match=f"of ledger {ledger_name(ledger)}, not of {ledger_name(ledger + 1)}"):
        ours.verify_last_add_confirmed(ledger + 1, body)

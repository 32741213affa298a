"""Record batches of entries: every row, in order, in batches of a bounded size."""

from array import array
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import NoSuchEntry, NoSuchLedger
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.entries.arrow_entries import HELD_FACTOR, record_batches
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun
from protocol_specs.ledger_id import join, split

ALL = pa.schema(
    [
        ("scope_id", pa.int64()),
        ("ledger_id", pa.int64()),
        ("entry_id", pa.int64()),
        ("payload", pa.binary()),
        ("lac", pa.int64()),
        ("length", pa.int64()),
        ("digest_ok", pa.bool_()),
        ("bookie", pa.string()),
        ("lost", pa.string()),
    ]
)
SCOPED = join(-5, -7)


def verified(
    payloads: list[bytes],
    ledger_id: int = 7,
    first: int = 0,
    kind: DigestType = DigestType.CRC32C,
    count: int | None = None,
    prefix: int = 4,
    bookies: tuple[str, ...] = ("b0",),
    ahead: bytes = b"",
) -> VerifiedRun:
    digest = EntryDigest(kind, b"")
    buffer, offsets = bytearray(ahead), array("Q", [len(ahead)])
    for entry_id, payload in enumerate(payloads, first):
        buffer += bytes(prefix) + digest.seal(ledger_id, entry_id, entry_id - 1, entry_id * 10, payload)
        offsets.append(len(buffer))
    given = offsets
    steps = {end - start for start, end in pairwise(offsets)}
    if len(steps) == 1:
        given = range(offsets[0], offsets[-1] + 1, steps.pop())
    run = EntryRun(ledger_id, first, bytes(buffer), given, prefix)
    return VerifiedRun(run, len(payloads) if count is None else count, digest.payload_offset_of(ledger_id), bookies)


def rows(part: VerifiedRun | LostEntry) -> list[dict[str, object]]:
    """The rows that a part must give, by the digest's own verification."""
    scope_id, ledger_id = split(part.ledger_id)
    if isinstance(part, LostEntry):
        absent = dict.fromkeys(ALL.names)
        lost = "; ".join(f"{bookie}: {error}" for bookie, error in part.reasons.items())
        return [{**absent, "scope_id": scope_id, "ledger_id": ledger_id, "entry_id": part.entry_id, "lost": lost}]
    bookies = part.bookies * (part.count if len(part.bookies) == 1 else 1)
    return [
        {
            "scope_id": scope_id,
            "ledger_id": ledger_id,
            "entry_id": part.first + index,
            "payload": payload,
            "lac": part.first + index - 1,
            "length": (part.first + index) * 10,
            "digest_ok": part.digest_ok,
            "bookie": bookies[index],
            "lost": None,
        }
        for index, payload in enumerate(part.payloads())
    ]


@st.composite
def parts(draw) -> VerifiedRun | LostEntry:
    ledger_id, first = draw(st.sampled_from([0, 7, SCOPED])), draw(st.integers(0, 2**40))
    if draw(st.integers(0, 5)) == 0:
        return LostEntry(ledger_id, first, {"b0": NoSuchEntry(), "b1": NoSuchLedger()})
    count = draw(st.integers(1, 20))
    equal, size = draw(st.booleans()), draw(st.integers(0, 30))
    payloads = [draw(st.binary(min_size=size if equal else 0, max_size=size)) for _ in range(count)]
    bookies = draw(st.sampled_from([("b0",), tuple(f"b{index % 3}" for index in range(count))]))
    ahead, prefix = draw(st.binary(max_size=3)), draw(st.sampled_from([0, 4, 24]))
    good = count if len(bookies) > 1 else draw(st.integers(1, count))
    return verified(payloads, ledger_id, first, draw(st.sampled_from(DigestType)), good, prefix, bookies, ahead)


@given(st.lists(parts(), max_size=8), st.integers(1, 30), st.integers(1, 200))
def test_every_row_in_order_in_batches_within_the_limits(drawn, rows_max, bytes_max):
    batches = list(record_batches(drawn, ALL, rows_max, bytes_max))
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == ALL
        assert 1 <= batch.num_rows <= rows_max
        assert batch.num_rows == 1 or sum(len(each or b"") for each in batch["payload"].to_pylist()) <= bytes_max
    assert [row for batch in batches for row in batch.to_pylist()] == [row for part in drawn for row in rows(part)]


def test_columns_are_those_of_the_schema_in_its_order():
    schema = pa.schema([("payload", pa.large_binary()), ("ledger_id", pa.int64())])
    (batch,) = record_batches([verified([b"a", b"bc"])], schema)
    assert batch.schema == schema
    assert batch.to_pylist() == [{"payload": b"a", "ledger_id": 7}, {"payload": b"bc", "ledger_id": 7}]


def test_lost_entries_are_left_out_without_a_column_for_them():
    schema = pa.schema([("entry_id", pa.int64())])
    drawn = [verified([b"a"]), LostEntry(7, 1, {"b0": NoSuchEntry()}), verified([b"b"], first=2)]
    assert [row for batch in record_batches(drawn, schema) for row in batch.to_pylist()] == [
        {"entry_id": 0},
        {"entry_id": 2},
    ]


def test_full_batches_are_filled_from_several_runs():
    drawn = [verified([b"x" * 100] * 70, first=70 * index) for index in range(10)]
    assert [batch.num_rows for batch in record_batches(drawn, ALL, rows_max=300)] == [300, 300, 100]
    assert [batch.num_rows for batch in record_batches(drawn, ALL, bytes_max=30_000)] == [300, 300, 100]


def test_an_entry_larger_than_a_batch_is_one_by_itself():
    drawn = [verified([b"a", b"b" * 1000, b"c", b"d" * 1000])]
    assert [batch.num_rows for batch in record_batches(drawn, ALL, bytes_max=100)] == [1, 1, 1, 1]


def test_large_buffers_with_few_entries_are_not_held():
    junk = bytes(10_000)
    batches = record_batches((verified([b"a"], first=each, ahead=junk) for each in range(100)), ALL, bytes_max=10_000)
    assert {batch.num_rows for batch in batches} == {HELD_FACTOR}


@pytest.mark.parametrize("size", [10, 5000])
def test_batches_own_their_bytes(size):
    part = verified([bytes([65 + each]) * (size + each) for each in range(3)])
    (batch,) = record_batches([part], ALL)
    buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer is not None]
    held = sum(buffer.size for buffer in buffers)
    assert held < 3 * size + 1000

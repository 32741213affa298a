"""Records of an entry log as columns of Arrow, without a Python object for each; payloads of uneven size are slices."""

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bookkeeper_tx.entry.entry_format import V1, V2, EntryFormat
from bookkeeper_tx.entry.entry_log_scan import Problem
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.entrylog.digests import LogDigests
from bookkeeper_tx.spark.entrylog.scan import Ints, Records
from protocol_specs import codecs
from protocol_specs.disk import entry_log as spec
from protocol_specs.entry import digest as digests
from protocol_specs.entry import v2

Flags = NDArray[np.bool_]
Heads = NDArray[np.uint8]

_WORD = codecs.RECORD_LENGTH.size
_ID_SIZE = 8

COLUMNS: Final = pa.schema(
    [
        ("path", pa.string()),
        ("log_id", pa.int64()),
        ("offset", pa.int64()),
        ("size", pa.int64()),
        ("kind", pa.string()),
        ("scope_id", pa.int64()),
        ("ledger_id", pa.int64()),
        ("entry_id", pa.int64()),
        ("last_add_confirmed", pa.int64()),
        ("length", pa.int64()),
        ("problem", pa.string()),
    ]
)
DIGEST_OK: Final = pa.field("digest_ok", pa.bool_())
PAYLOAD: Final = pa.field("payload", pa.binary())
EVERY_COLUMN: Final = COLUMNS.append(DIGEST_OK).append(PAYLOAD)


class Kind(IntEnum):
    """The kind of a row."""

    ENTRY = 0
    LEDGERS_MAP = 1
    """A part of the map of ledgers that ends a full log."""
    FILLER = 2
    """Bytes that Java's direct I/O puts before the first entry, so that it begins at a block."""
    PROBLEM = 3
    """Bytes that cannot be an entry, or that lie after such bytes."""


_KIND_NAMES = pa.array([kind.name.lower() for kind in Kind])


class LogColumns:
    """Makes rows of one log."""

    def __init__(self, path: str, log_id: int | None, scoped: bool, digest_type: DigestType) -> None:
        """``digest_type`` is that of entries in logs of scope 0; entries of other scopes name their own."""
        self._path = path
        self._log_id = log_id
        self._scoped = scoped
        self._format: EntryFormat = V2 if scoped else V1
        self._digests = LogDigests(scoped, digest_type)
        self._digest_sizes = np.zeros(v2.DIGEST_MASK + 1, np.int64)
        if scoped:
            for number, digest in digests.BY_NUMBER.items():
                self._digest_sizes[number] = digest.size
        else:
            self._digest_sizes[:] = digest_type.value.size

    def batches(self, records: Records, names: list[str], rows_max: int, bytes_max: int) -> Iterator[pa.RecordBatch]:
        """Give the records as batches of at most so many rows and bytes (of entries, if payloads are wanted)."""
        weights = records.sizes if PAYLOAD.name in names else np.zeros(len(records.sizes), np.int64)
        ends = np.cumsum(weights)
        first = 0
        while first < len(ends):
            before = ends[first] - weights[first]
            end = int(np.searchsorted(ends, before + bytes_max, "right"))
            end = min(max(end, first + 1), first + rows_max)
            part = Records(records.buffer, records.base, records.starts[first:end], records.sizes[first:end])
            yield self._batch(part, names)
            first = end

    def problem(self, problem: Problem, names: list[str]) -> pa.RecordBatch:
        """Return the row for bytes that are no record."""
        values = {"offset": problem.offset, "size": problem.size, "kind": "problem", "problem": problem.text}
        values |= {"path": self._path, "log_id": self._log_id}
        arrays = [pa.array([values.get(name)], EVERY_COLUMN.field(name).type) for name in names]
        return pa.RecordBatch.from_arrays(arrays, names)

    def _batch(self, records: Records, names: list[str]) -> pa.RecordBatch:
        count, metadata = len(records.starts), self._format.metadata
        whole = records.sizes - _WORD >= metadata.size
        heads = np.zeros((count, metadata.size), np.uint8)
        at = records.starts[whole] - records.base + _WORD
        data = np.frombuffer(records.buffer, np.uint8)
        heads[whole] = data[at[:, None] + np.arange(metadata.size)]
        scopes = self._column(heads, "ledger_scope_id") if self._scoped else np.zeros(count, np.int64)
        ledgers, entries = self._column(heads, "ledger_id"), self._column(heads, "entry_id")
        kinds = self._kinds(whole, heads, scopes, ledgers, entries)
        entry = kinds == Kind.ENTRY
        columns = {
            "path": pa.repeat(self._path, count),
            "log_id": pa.repeat(pa.scalar(self._log_id, pa.int64()), count),
            "offset": pa.array(records.starts),
            "size": pa.array(records.sizes),
            "kind": pa.DictionaryArray.from_arrays(pa.array(kinds), _KIND_NAMES).cast(pa.string()),
            "scope_id": pa.array(scopes, mask=~whole),
            "ledger_id": pa.array(ledgers, mask=~whole),
            "entry_id": pa.array(entries, mask=~whole),
            "last_add_confirmed": pa.array(self._column(heads, "last_add_confirmed"), mask=~entry),
            "length": pa.array(self._column(heads, "length"), mask=~entry),
            "problem": _problems(records, kinds, whole, ledgers, entries),
        }
        if DIGEST_OK.name in names:
            columns[DIGEST_OK.name] = self._digests.verdicts(records, entry, scopes, ledgers, entries)
        if PAYLOAD.name in names:
            columns[PAYLOAD.name] = self._payloads(records, heads, entry)
        return pa.RecordBatch.from_arrays([columns[name] for name in names], names)

    def _column(self, heads: Heads, name: str) -> Ints:
        at = self._format.metadata.offsets[name]
        column = np.ascontiguousarray(heads[:, at : at + _ID_SIZE]).view(">i8")
        return column.reshape(-1).astype(np.int64)

    def _kinds(self, whole: Flags, heads: Heads, scopes: Ints, ledgers: Ints, entries: Ints) -> NDArray[np.int8]:
        kinds = np.full(len(whole), Kind.PROBLEM, np.int8)
        entry = whole & (entries >= 0)
        if self._scoped:
            known = heads[:, 0] & v2.VERSION_MASK == v2.VERSION
            kinds[known & entry & (scopes != 0)] = Kind.ENTRY
            apart = known & (scopes == spec.SCOPED_LEDGERS_MAP_SCOPE_ID) & (ledgers == spec.LEDGERS_MAP_LEDGER_ID)
        else:
            kinds[entry & (ledgers >= 0)] = Kind.ENTRY
            apart = whole & (ledgers == spec.LEDGERS_MAP_LEDGER_ID)
            kinds[apart] = Kind.FILLER
        kinds[apart & (entries == spec.LEDGERS_MAP_ENTRY_ID)] = Kind.LEDGERS_MAP
        return kinds

    def _payloads(self, records: Records, heads: Heads, entry: Flags) -> pa.Array:
        """Cut payloads out; null for a record that is no entry, or is shorter than metadata and digest."""
        digest_sizes = self._digest_sizes[heads[:, 0] & v2.DIGEST_MASK if self._scoped else 0]
        before = _WORD + self._format.metadata.size + digest_sizes
        valid = entry & (records.sizes >= before)
        sizes = np.where(valid, records.sizes - before, 0)
        starts = records.starts - records.base + before
        offsets = np.zeros(len(sizes) + 1, np.int32)
        np.cumsum(sizes, out=offsets[1:])
        data = _joined(records.buffer, starts[valid], sizes[valid])
        validity = None if valid.all() else pa.array(valid).buffers()[1]
        return pa.Array.from_buffers(
            pa.binary(), len(sizes), [validity, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data)]
        )


def _problems(records: Records, kinds: NDArray[np.int8], whole: Flags, ledgers: Ints, entries: Ints) -> pa.Array:
    wrong = np.flatnonzero(kinds == Kind.PROBLEM)
    if not len(wrong):
        return pa.nulls(len(kinds), pa.string())
    texts: list[str | None] = [None] * len(kinds)
    for index in wrong.tolist():
        if whole[index]:
            texts[index] = f"ledger {ledgers[index]} entry {entries[index]}: no entry has such ids"
        else:
            texts[index] = f"a record of {records.sizes[index] - _WORD} bytes is too short for an entry"
    return pa.array(texts, pa.string())


def _joined(buffer: bytes, starts: Ints, sizes: Ints) -> Any:
    """Return the pieces of ``buffer`` one after the other; in one copy if all have one size and one distance."""
    count = len(starts)
    if count > 1:
        steps = np.diff(starts)
        size, step = int(sizes[0]), int(steps[0])
        if step >= size and (sizes == size).all() and (steps == step).all():
            data = np.frombuffer(buffer, np.uint8)[int(starts[0]) :]
            return np.lib.stride_tricks.as_strided(data, (count, size), (step, 1), writeable=False).tobytes()
    view = memoryview(buffer)
    return b"".join([view[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)])

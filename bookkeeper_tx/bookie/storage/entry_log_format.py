"""The names and the fixed parts of entry logs (docs/formats/entry-log.md): header, ledgers map."""

import contextlib
from collections.abc import Mapping
from itertools import islice

from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from protocol_specs import codecs
from protocol_specs.disk import entry_log as spec
from protocol_specs.entry import v2
from protocol_specs.ledger_id import split

HEADER = codecs.derive("entry log header", spec.HEADER)
LEDGERS_MAP_HEAD = codecs.derive("ledgers map", spec.LEDGERS_MAP_HEAD)
LEDGERS_MAP_ROW = codecs.derive("ledgers map row", spec.LEDGERS_MAP_ROW)
SCOPED_LEDGERS_MAP_HEAD = codecs.derive("ledgers map", spec.SCOPED_LEDGERS_MAP_HEAD)
SCOPED_LEDGERS_MAP_ROW = codecs.derive("ledgers map row", spec.SCOPED_LEDGERS_MAP_ROW)


def log_name(log_id: int, scoped: bool = False) -> str:
    """Return the file name of an entry log; ``scoped``: of one with entries of ledgers outside scope 0."""
    return f"{log_id:x}{spec.SCOPED_LOG_SUFFIX if scoped else spec.LOG_SUFFIX}"


def header(map_offset: int = 0, map_count: int = 0, scoped: bool = False) -> bytes:
    """Return the header of a log whose map of ``map_count`` ledgers is at ``map_offset``."""
    version = spec.SCOPED_VERSION if scoped else spec.VERSION
    return HEADER.pack_fixed(spec.MAGIC, version, map_offset, map_count).ljust(spec.HEADER_SIZE, b"\0")


def ledgers_map(sizes: Mapping[int, int], scoped: bool = False) -> bytes:
    """Return the map of a log that holds these bytes of these ledgers."""
    owner: tuple[int, ...] = (spec.LEDGERS_MAP_LEDGER_ID,)
    head, row_size = LEDGERS_MAP_HEAD, LEDGERS_MAP_ROW.size
    if scoped:
        owner = (v2.flags_of(v2.NO_DIGEST), spec.SCOPED_LEDGERS_MAP_SCOPE_ID, spec.LEDGERS_MAP_LEDGER_ID)
        head, row_size = SCOPED_LEDGERS_MAP_HEAD, SCOPED_LEDGERS_MAP_ROW.size
    rows = iter(sizes.items())
    batches: list[bytes] = []
    while batch := list(islice(rows, spec.LEDGERS_MAP_BATCH_COUNT_MAX)):
        size = head.size - RECORD_LENGTH_SIZE + len(batch) * row_size
        batches.append(head.pack_fixed(size, *owner, spec.LEDGERS_MAP_ENTRY_ID, len(batch)))
        if scoped:
            batches += (SCOPED_LEDGERS_MAP_ROW.pack_fixed(*split(ledger_id), size) for ledger_id, size in batch)
        else:
            batches += (LEDGERS_MAP_ROW.pack_fixed(*row) for row in batch)
    return b"".join(batches)


def following(log_id: int) -> int:
    """Return the id of the log after another."""
    return 0 if log_id >= spec.LOG_ID_MAX else log_id + 1


def log_id_of(name: str) -> int:
    """Return the id that a file name of an entry log takes, compacted logs included; -1 for another file."""
    stem, dot, suffix = name.partition(".")
    if dot and suffix.startswith(spec.LOG_SUFFIX[1:]):
        with contextlib.suppress(ValueError):
            return int(stem, 16)
    return -1

"""The bytes of journal records that are no entries, and of the seal after each group (docs/formats/journal.md)."""

import crc32c

from protocol_specs import codecs
from protocol_specs.disk import journal, meta_entries
from protocol_specs.entry import v2
from protocol_specs.ledger_id import SCOPED_MIN, split

_FENCE = codecs.derive("journal fence record", meta_entries.FENCE_RECORD)
_BLOB = codecs.derive("journal blob record", meta_entries.BLOB_RECORD)
_SCOPED_FENCE = codecs.derive("journal fence record", meta_entries.SCOPED_FENCE_RECORD)
_SCOPED_BLOB = codecs.derive("journal blob record", meta_entries.SCOPED_BLOB_RECORD)
_SCOPED_FLAGS = v2.flags_of(v2.NO_DIGEST)
_LENGTH_SIZE = codecs.RECORD_LENGTH.size

SEAL_PAD = codecs.derive("journal seal", journal.SEAL_PAD)


def key_record(ledger_id: int, master_key: bytes) -> bytes:
    """Return the record of a ledger's master key; it goes before any other record of the ledger."""
    return _blob_record(ledger_id, meta_entries.LEDGER_KEY, master_key)


def fence_record(ledger_id: int) -> bytes:
    """Return the record of a fence of the ledger."""
    return _bare_record(ledger_id, meta_entries.FENCE)


def deleted_record(ledger_id: int) -> bytes:
    """Return the record of the deletion of a ledger that is garbage."""
    return _bare_record(ledger_id, meta_entries.DELETED)


def explicit_lac_record(ledger_id: int, body: bytes) -> bytes:
    """Return the record of an explicit last add confirmed; ``body`` is the whole body of the WRITE_LAC request."""
    return _blob_record(ledger_id, meta_entries.EXPLICIT_LAC, body)


def _bare_record(ledger_id: int, kind: int) -> bytes:
    if ledger_id >= SCOPED_MIN:
        owner = (_SCOPED_FLAGS, *split(ledger_id))
        return _SCOPED_FENCE.pack_fixed(_SCOPED_FENCE.size - _LENGTH_SIZE, *owner, kind)
    return _FENCE.pack_fixed(_FENCE.size - _LENGTH_SIZE, ledger_id, kind)


def _blob_record(ledger_id: int, kind: int, blob: bytes) -> bytes:
    if ledger_id >= SCOPED_MIN:
        owner = (_SCOPED_FLAGS, *split(ledger_id))
        size = _SCOPED_BLOB.size - _LENGTH_SIZE + len(blob)
        return _SCOPED_BLOB.pack_fixed(size, *owner, kind, len(blob)) + blob
    return _BLOB.pack_fixed(_BLOB.size - _LENGTH_SIZE + len(blob), ledger_id, kind, len(blob)) + blob


def parse_blob(record: bytes, scoped: bool = False) -> bytes:
    """Return the blob of a key or explicit-LAC record, length word included in ``record``; raises Malformed.

    ``scoped``: the ledger is not in scope 0.
    """
    codec = _SCOPED_BLOB if scoped else _BLOB
    *_, size, rest = codec.unpack_from(record)
    if not 0 <= size <= len(rest):
        raise codecs.Malformed(codec.name, "size", codec.offsets["size"], f"{size} bytes said, {len(rest)} there")
    return bytes(rest[:size])


def seal_pad(start: int, end: int, checksum: int, salt: bytes, magic: bytes = journal.SEAL_MAGIC) -> bytes:
    """Return the pad record that seals the group of bytes ``start`` to ``end`` and fills up to the alignment.

    ``checksum`` is the CRC-32C of the group, ``magic`` one of the two of a seal.
    """
    size = journal.seal_pad_size(end)
    body_size = size - journal.PAD_HEADER_SIZE
    seal = SEAL_PAD.pack_fixed(journal.PAD_LENGTH, body_size, magic, salt, start, checksum)
    return seal + bytes(size - len(seal))


def file_start(salt: bytes, version: int = journal.VERSION) -> bytes:
    """Return the first bytes of a new file: the header, and a sealed group that marks the file as ours.

    The group is empty, or in a file of version 7 it is the header.
    """
    size = journal.HEADER_SIZE
    header = bytes(journal.HEADER.build({"version": version}).ljust(size, b"\0"))
    if version < journal.SCOPED_VERSION:
        return header + seal_pad(size, size, 0, salt)
    return header + seal_pad(0, size, start_checksum(header, salt), salt)


def start_checksum(header: bytes, salt: bytes) -> int:
    """Return the checksum in the seal of a header of version 7, ``HEADER_SIZE`` bytes."""
    return int(crc32c.crc32c(salt, crc32c.crc32c(header)))

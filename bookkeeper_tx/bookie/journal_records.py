"""The bytes of journal records that are no entries, and of the seal behind each group (docs/formats/journal.md)."""

from protocol_specs import codecs
from protocol_specs.disk import journal, meta_entries

_FENCE = codecs.derive("journal fence record", meta_entries.FENCE_RECORD)
_BLOB = codecs.derive("journal blob record", meta_entries.BLOB_RECORD)
_LENGTH_SIZE = codecs.RECORD_LENGTH.size

SEAL_PAD = codecs.derive("journal seal", journal.SEAL_PAD)


def key_record(ledger_id: int, master_key: bytes) -> bytes:
    """Return the record of a ledger's master key; it goes before any other record of the ledger."""
    return _blob_record(ledger_id, meta_entries.LEDGER_KEY, master_key)


def fence_record(ledger_id: int) -> bytes:
    """Return the record that says that the ledger is fenced."""
    return _FENCE.pack_fixed(_FENCE.size - _LENGTH_SIZE, ledger_id, meta_entries.FENCE)


def explicit_lac_record(ledger_id: int, body: bytes) -> bytes:
    """Return the record of a last add confirmed that the writer set; ``body`` is its request's body, whole."""
    return _blob_record(ledger_id, meta_entries.EXPLICIT_LAC, body)


def _blob_record(ledger_id: int, kind: int, blob: bytes) -> bytes:
    return _BLOB.pack_fixed(_BLOB.size - _LENGTH_SIZE + len(blob), ledger_id, kind, len(blob)) + blob


def parse_blob(record: bytes) -> bytes:
    """Return the blob of a key or explicit-LAC record, length word included in ``record``; raises Malformed."""
    _, _, _, size, rest = _BLOB.unpack_from(record)
    if not 0 <= size <= len(rest):
        raise codecs.Malformed(_BLOB.name, "size", _BLOB.offsets["size"], f"{size} bytes said, {len(rest)} there")
    return bytes(rest[:size])


def seal_pad(start: int, end: int, crc32c: int, salt: bytes) -> bytes:
    """Return the pad record that seals the group of bytes ``start`` to ``end`` and fills up to the alignment."""
    size = journal.seal_pad_size(end)
    body_size = size - journal.PAD_HEADER_SIZE
    seal = SEAL_PAD.pack_fixed(journal.PAD_LENGTH, body_size, journal.SEAL_MAGIC, salt, start, crc32c)
    return seal + bytes(size - len(seal))


def file_start(salt: bytes) -> bytes:
    """Return the first bytes of a new file: the header, and the empty group by which it is known as ours."""
    header = journal.HEADER.build({"version": journal.VERSION})
    size = journal.HEADER_SIZE
    return bytes(header.ljust(size, b"\0") + seal_pad(size, size, 0, salt))

"""Entries as a writer seals them, and as no writer would."""

from protocol_specs import codecs, fields
from protocol_specs.entry import v1
from protocol_specs.entry.digest import DIGESTS, compute, master_key

__all__ = ["KEY", "OTHER_KEY", "entry", "explicit_lac", "master_key", "payload_of"]

KEY = bytes(range(20))
OTHER_KEY = bytes(20)

_ENTRY = codecs.derive("entry", v1.ENTRY_METADATA)
_LAC = codecs.derive("explicit last add confirmed", v1.LAC_METADATA)
_BY_NAME = {digest.name.lower(): digest for digest in DIGESTS}


def entry(
    ledger_id: int,
    entry_id: int,
    last_add_confirmed: int = fields.NO_ENTRY,
    payload: bytes = b"hello",
    *,
    digest: str | None = None,
    password: bytes = b"",
    length: int | None = None,
) -> bytes:
    """An entry of format V1.

    :param digest: ``crc32c``, ``crc32``, ``hmac`` or ``dummy``; None: the entry has no digest, which no bookie checks
    :param password: of the ledger, for ``hmac``
    :param length: payload bytes of the ledger so far; those of this entry if not given
    """
    head = _ENTRY.pack_fixed(ledger_id, entry_id, last_add_confirmed, len(payload) if length is None else length)
    sealed = compute(_BY_NAME[digest], password, head + payload) if digest else b""
    return head + sealed + payload


def explicit_lac(ledger_id: int, last_add_confirmed: int, digest: bytes = b"\1\2\3\4") -> bytes:
    """The body of a WRITE_LAC."""
    return _LAC.pack_fixed(ledger_id, last_add_confirmed) + digest


def payload_of(body: bytes, digest: str | None = None) -> bytes:
    """The payload of an entry with such a digest."""
    return body[_ENTRY.size + (_BY_NAME[digest].size if digest else 0) :]

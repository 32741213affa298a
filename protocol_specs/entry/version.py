"""The format of an entry, by its first byte, and the metadata of an entry of either format.

A ledger id is one integer here, see :mod:`protocol_specs.ledger_id`.  All functions raise
:class:`~protocol_specs.codecs.Malformed` for bytes that are too short and for versions that are not known.
"""

from collections.abc import Callable

from construct import Struct

from protocol_specs import codecs
from protocol_specs.entry import v1, v2
from protocol_specs.ledger_id import join

_FLAGS = codecs.derive("entry", Struct(v2.ENTRY_METADATA.subcons[0]))

_Unpack = Callable[[bytes], tuple[int, ...]]


def is_v2(entry: bytes) -> bool:
    """Return whether an entry, or an explicit last add confirmed, is of format V2; else it is of V1."""
    (flags,) = _FLAGS.unpack_from(entry)
    if not flags & v2.NOT_V1:
        return False
    if flags & v2.VERSION_MASK != v2.VERSION:
        raise codecs.Malformed("entry", "flags", 0, f"first byte {flags:#04x} is of no known entry format")
    return True


def ids_of(entry: bytes) -> tuple[int, int]:
    """Return ledger id and entry id of an entry, which may be cut short after them."""
    ledger_id, entry_id = _ids(entry)
    return ledger_id, entry_id


def metadata_of(entry: bytes) -> tuple[int, int, int, int]:
    """Return ledger id, entry id, last add confirmed and length of an entry."""
    ledger_id, entry_id, last_add_confirmed, length = _metadata(entry)
    return ledger_id, entry_id, last_add_confirmed, length


def metadata_size(entry: bytes) -> int:
    """Return how many bytes stand before the digest of an entry."""
    return _V2_METADATA.size if is_v2(entry) else _V1_METADATA.size


def explicit_lac_of(body: bytes) -> tuple[int, int]:
    """Return ledger id and last add confirmed of an explicit last add confirmed, the body of a WRITE_LAC request."""
    ledger_id, last_add_confirmed = _explicit_lac(body)
    return ledger_id, last_add_confirmed


def _of(name: str, v1_form: Struct, v2_form: Struct) -> tuple[codecs.Codec, codecs.Codec, _Unpack]:
    of_v1, of_v2 = codecs.derive(name, v1_form), codecs.derive(name, v2_form)

    def unpack(data: bytes) -> tuple[int, ...]:
        if not is_v2(data):
            return of_v1.unpack_from(data)
        _, ledger_scope_id, ledger_id, *others = of_v2.unpack_from(data)
        if not ledger_scope_id:
            at = of_v2.offsets["ledger_scope_id"]
            raise codecs.Malformed(name, "ledger_scope_id", at, "format V2 in scope 0, where there is only V1")
        return join(ledger_scope_id, ledger_id), *others

    return of_v1, of_v2, unpack


_ids = _of("entry ids", Struct(*v1.ENTRY_IDS.subcons[:-1]), Struct(*v2.ENTRY_IDS.subcons[:-1]))[2]
_V1_METADATA, _V2_METADATA, _metadata = _of("entry metadata", v1.ENTRY_METADATA, v2.ENTRY_METADATA)
_explicit_lac = _of("explicit last add confirmed", v1.LAC_METADATA, v2.LAC_METADATA)[2]

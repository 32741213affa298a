"""The digest types with worked values: the vectors of one entry, once for each type."""

from protocol_specs import vectors
from protocol_specs.entry import v1, v2
from protocol_specs.entry.digest import DIGESTS
from protocol_specs.rendering.tables import table

_V1_NAME = "entry 2 of ledger 1, "
_V2_NAME = "entry 3 of scope 1, ledger 2, "
_LAC_NAME = "last add confirmed of ledger 1, "


def digests() -> str:
    """Return the table of the digest types."""
    rows = [[digest.name, str(digest.number), str(digest.size), digest.algorithm] for digest in DIGESTS]
    return table(["type", "number", "bytes", "value"], rows)


def digest_values() -> str:
    """Return the table of the digests of one entry in each format, and of one explicit last add confirmed."""
    known = {vector["name"]: bytes.fromhex(vector["hex"]) for vector in vectors.load("entry")}
    forms = (
        (_V1_NAME, v1.ENTRY_METADATA.sizeof()),
        (_LAC_NAME, v1.LAC_METADATA.sizeof()),
        (_V2_NAME, v2.ENTRY_METADATA.sizeof()),
    )
    rows = [
        [digest.name, *[f"`{_digest(known[name + digest.name], at, digest.size)}`" for name, at in forms]]
        for digest in DIGESTS
    ]
    return table(
        ["type", "entry 2 of ledger 1", "explicit last add confirmed 1 of ledger 1", "entry 3 of scope 1, ledger 2"],
        rows,
    )


def _digest(data: bytes, at: int, size: int) -> str:
    return data[at : at + size].hex() or "nothing"

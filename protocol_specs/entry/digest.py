"""The four digest types: their number in ledger metadata, their size in an entry, and what they cover.

A digest covers the 32 bytes of entry metadata and then the payload, never itself.
"""

from typing import NamedTuple


class Digest(NamedTuple):
    """One digest type."""

    name: str
    number: int
    """Value of ``digestType`` in ledger metadata."""
    size: int
    """Bytes between entry metadata and payload."""
    algorithm: str


CRC32 = Digest("CRC32", 1, 8, "CRC-32 of zlib, zero-extended to int64")
MAC = Digest("HMAC", 2, 20, "HMAC-SHA1 keyed with SHA1('mac' + password)")
CRC32C = Digest("CRC32C", 3, 4, "CRC-32C (Castagnoli), int32")
DUMMY = Digest("DUMMY", 4, 0, "none")

DIGESTS = (CRC32, MAC, CRC32C, DUMMY)
BY_NUMBER = {digest.number: digest for digest in DIGESTS}

"""The four digest types: their number in ledger metadata, their size in an entry, and their algorithm.

A digest covers the 32 bytes of entry metadata and then the payload, never itself.
"""

import hashlib
import hmac
import zlib
from typing import NamedTuple

import crc32c


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


def master_key(password: bytes) -> bytes:
    """Return the 20 bytes that a client shows a bookie to write to a ledger, or to fence it."""
    return hashlib.sha1(b"ledger" + password).digest()


def compute(digest: Digest, password: bytes, covered: bytes) -> bytes:
    """Compute a digest straight from its definition; bookie and client compute it in a faster way."""
    if digest is CRC32:
        return zlib.crc32(covered).to_bytes(digest.size, "big")
    if digest is CRC32C:
        return int(crc32c.crc32c(covered)).to_bytes(digest.size, "big")
    if digest is MAC:
        return hmac.digest(hashlib.sha1(b"mac" + password).digest(), covered, "sha1")
    return b""

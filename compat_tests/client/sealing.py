"""Entries, keys and digests as an honest writer makes them, from the declarations only."""

from __future__ import annotations

import hashlib
import hmac
import zlib
from collections.abc import Sequence

import attrs
import crc32c

from protocol_specs import codecs, fields
from protocol_specs.entry import digest as digests
from protocol_specs.entry import v1
from protocol_specs.entry.version import metadata_size

_METADATA = codecs.derive("entry metadata", v1.ENTRY_METADATA)
_LAC = codecs.derive("explicit last add confirmed", v1.LAC_METADATA)

DIGEST_NAMES = ("CRC32", "MAC", "CRC32C", "DUMMY")
"""As Java's API calls them, and so the driver protocol; MAC is HMAC in ledger metadata."""

_OF_NAME = {"CRC32": digests.CRC32, "MAC": digests.MAC, "CRC32C": digests.CRC32C, "DUMMY": digests.DUMMY}


def digest_named(name: str) -> digests.Digest:
    """The row of the digest table for a name of the driver protocol."""
    return _OF_NAME[name]


def master_key(password: bytes) -> bytes:
    """The key by which bookies recognise the writers of a ledger."""
    return hashlib.sha1(b"ledger" + password).digest()


@attrs.frozen
class Seal:
    """Seals and opens what belongs to one digest type and password."""

    digest: str = "CRC32C"
    password: bytes = b""

    @property
    def size(self) -> int:
        """Bytes of the digest."""
        return digest_named(self.digest).size

    def of(self, data: bytes) -> bytes:
        """The digest of ``data``."""
        if self.digest == "MAC":
            key = hashlib.sha1(b"mac" + self.password).digest()
            return hmac.new(key, data, hashlib.sha1).digest()
        if self.digest == "CRC32":
            return zlib.crc32(data).to_bytes(8, "big")
        if self.digest == "CRC32C":
            return int(crc32c.crc32c(data)).to_bytes(4, "big")
        return b""

    def entry(self, ledger_id: int, entry_id: int, last_add_confirmed: int, length: int, payload: bytes) -> bytes:
        """A sealed entry of format V1; ``length`` is cumulative, this payload included."""
        metadata = _METADATA.pack_fixed(ledger_id, entry_id, last_add_confirmed, length)
        return metadata + self.of(metadata + payload) + payload

    def explicit_lac(self, ledger_id: int, last_add_confirmed: int) -> bytes:
        """The body of a WRITE_LAC."""
        metadata = _LAC.pack_fixed(ledger_id, last_add_confirmed)
        return metadata + self.of(metadata)

    def payload_of(self, entry: bytes) -> bytes:
        """The bytes after the digest, which is not verified."""
        return entry[metadata_size(entry) + self.size :]

    def digest_of(self, entry: bytes) -> bytes:
        """The digest inside an entry."""
        start = metadata_size(entry)
        return entry[start : start + self.size]

    def right(self, entry: bytes) -> bool:
        """Whether the digest inside an entry is that of the rest."""
        start = metadata_size(entry)
        return self.of(entry[:start] + self.payload_of(entry)) == self.digest_of(entry)

    def run(
        self, ledger_id: int, payloads: Sequence[bytes], first: int = 0, lag: int = 1, length: int = 0
    ) -> list[bytes]:
        """Consecutive entries as a writer would have sent them, the last add confirmed ``lag`` behind each."""
        entries = []
        for entry_id, payload in enumerate(payloads, first):
            length += len(payload)
            lac = max(entry_id - lag, fields.NO_ENTRY)
            entries.append(self.entry(ledger_id, entry_id, lac, length, payload))
        return entries

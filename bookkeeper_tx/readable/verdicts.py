"""What can be said of digests and master keys, with the password of the ledger or without (docs/protocol/entry.md)."""

from collections.abc import Callable

from attrs import frozen

from bookkeeper_tx.digest import EntryDigest, master_key
from bookkeeper_tx.model import DigestType
from protocol_specs import fields

GUESSED = (DigestType.CRC32C, DigestType.CRC32, DigestType.MAC)
"""Digest types that are tried when none is named; DUMMY would match everything.  Who gives no password may mean the
empty one."""


@frozen
class Verdict:
    """How many bytes of digest there are, and whether they are right."""

    size: int | None
    """None: it cannot be told where the digest ends and the payload starts."""
    meaning: str


class Verdicts:
    """Judges digests by what is known of a ledger: its password, its digest type, both or nothing."""

    def __init__(self, password: bytes | None = None, digest_type: DigestType | None = None) -> None:
        self._password = password
        self._digest_type = digest_type
        self._digests: dict[DigestType, EntryDigest] = {}

    def key(self, value: bytes) -> str:
        """Say whose master key ``value`` is."""
        if len(value) != fields.MASTER_KEY_SIZE:
            return f"{len(value)} bytes, a master key has {fields.MASTER_KEY_SIZE}"
        if self._password is not None and value == master_key(self._password):
            return "of the password given"
        if value == master_key(b""):
            return "of the empty password"
        return "" if self._password is None else "of another password than the one given"

    def of(self, data: bytes, start: int, seal: Callable[[EntryDigest, bytes], bytes], own: int | None) -> Verdict:
        """Judge the digest that starts at ``start`` in ``data``.

        ``seal`` returns the bytes as they should be for a digest and the payload; ``own`` is the number of the digest
        type that the bytes themselves name, as those of format V2 do.
        """
        named = next((each for each in DigestType if each.value.number == own), None) if own is not None else None
        if own is not None and named is None:
            return Verdict(None, f"no digest type has the number {own}")
        known = named or self._digest_type
        if known is not None:
            return self._named(known, data, start, seal)
        for digest_type in GUESSED:
            if self._fits(digest_type, data, start, seal):
                return Verdict(digest_type.value.size, f"{digest_type.value.name}, matches")
        if self._password is None:
            return Verdict(None, "no CRC32C or CRC32 digest matches; HMAC needs the password")
        return Verdict(None, "no digest matches: DUMMY, another password, or damaged")

    def _named(
        self, digest_type: DigestType, data: bytes, start: int, seal: Callable[[EntryDigest, bytes], bytes]
    ) -> Verdict:
        name, size = digest_type.value.name, digest_type.value.size
        if len(data) - start < size:
            return Verdict(None, f"too short for {name}, which has {size} bytes")
        if not size:
            return Verdict(0, f"{name}, nothing to check")
        if digest_type is DigestType.MAC and self._password is None:
            return Verdict(size, f"{name}, not checked: give the password")
        if self._fits(digest_type, data, start, seal):
            return Verdict(size, f"{name}, matches")
        right = seal(self._digest(digest_type), data[start + size :])[start : start + size]
        return Verdict(size, f"{name}, DOES NOT MATCH, {right.hex()} would")

    def _fits(
        self, digest_type: DigestType, data: bytes, start: int, seal: Callable[[EntryDigest, bytes], bytes]
    ) -> bool:
        size = digest_type.value.size
        return len(data) - start >= size and seal(self._digest(digest_type), data[start + size :]) == data

    def _digest(self, digest_type: DigestType) -> EntryDigest:
        if digest_type not in self._digests:
            self._digests[digest_type] = EntryDigest(digest_type, self._password or b"")
        return self._digests[digest_type]

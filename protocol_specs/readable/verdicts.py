"""Judges digests and master keys, with the password of the ledger or without (docs/protocol/entry.md)."""

from collections.abc import Callable

from attrs import frozen

from protocol_specs import fields
from protocol_specs.entry.digest import BY_NUMBER, CRC32, CRC32C, MAC, Digest, compute, master_key

GUESSED = (CRC32C, CRC32, MAC)
"""Digest types that are tried when none is named; DUMMY would match everything.  HMAC is tried without a password too,
because the password may be empty."""


@frozen
class Verdict:
    """How many bytes of digest there are, and whether they are right."""

    size: int | None
    """None if it is unknown where the digest ends and the payload starts."""
    meaning: str


class Verdicts:
    """Judges digests by what is known of a ledger: its password, its digest type, both or nothing."""

    def __init__(self, password: bytes | None = None, digest: Digest | None = None) -> None:
        self._password = password
        self._digest = digest

    def key(self, value: bytes) -> str:
        """Say to which password the master key ``value`` belongs."""
        if len(value) != fields.MASTER_KEY_SIZE:
            return f"{len(value)} bytes, a master key has {fields.MASTER_KEY_SIZE}"
        if self._password is not None and value == master_key(self._password):
            return "of the password given"
        if value == master_key(b""):
            return "of the empty password"
        return "" if self._password is None else "of another password than the one given"

    def of(self, metadata: bytes, rest: bytes, own: int | None, with_payload: bool = True) -> Verdict:
        """Judge the digest that ``rest`` starts with.

        It covers ``metadata`` and, with ``with_payload``, the bytes of ``rest`` after it.

        ``own`` is the number of the digest type that the bytes themselves name, as those of format V2 do.
        """
        named = BY_NUMBER.get(own) if own is not None else None
        if own is not None and named is None:
            return Verdict(None, f"no digest type has the number {own}")

        def right(digest: Digest) -> bytes:
            payload = rest[digest.size :] if with_payload else b""
            return compute(digest, self._password or b"", metadata + payload)

        known = named or self._digest
        if known is not None:
            return self._named(known, rest, right)
        for digest in GUESSED:
            if len(rest) >= digest.size and right(digest) == rest[: digest.size]:
                return Verdict(digest.size, f"{digest.name}, matches")
        if self._password is None:
            return Verdict(None, "no CRC32C or CRC32 digest matches; HMAC needs the password")
        return Verdict(None, "no digest matches: DUMMY, another password, or damaged")

    def _named(self, digest: Digest, rest: bytes, right: Callable[[Digest], bytes]) -> Verdict:
        name, size = digest.name, digest.size
        if len(rest) < size:
            return Verdict(None, f"too short for {name}, which has {size} bytes")
        if not size:
            return Verdict(0, f"{name}, nothing to check")
        if digest is MAC and self._password is None:
            return Verdict(size, f"{name}, not checked: give the password")
        computed = right(digest)
        if computed == rest[:size]:
            return Verdict(size, f"{name}, matches")
        return Verdict(size, f"{name}, DOES NOT MATCH, {computed.hex()} would")

"""Master key, and the four digests: compute and verify (docs/protocol/entry.md)."""

import hashlib
import hmac
import zlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import sub

import construct
import crc32c

from bookkeeper_tx.entry.entry_format import V1, V2, EntryFormat
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.entry.frame_runs import ascending_ids, equal_frames
from bookkeeper_tx.errors import DigestMismatch
from bookkeeper_tx.model import DigestType, ledger_name
from protocol_specs import codecs
from protocol_specs.entry import v2
from protocol_specs.ledger_id import SCOPED_MIN, join, split

ENTRY_METADATA = V1.metadata
LAC_METADATA = V1.explicit_lac
METADATA_SIZE = ENTRY_METADATA.size

Checksum = Callable[..., int]

_CHECKSUMS: dict[DigestType, Checksum] = {DigestType.CRC32: zlib.crc32, DigestType.CRC32C: crc32c.crc32c}
_VALUES = {DigestType.CRC32: construct.Int64ub, DigestType.CRC32C: construct.Int32ub}

EQUAL_MIN = 8
"""Fewer entries than this are faster to verify one by one."""

DIGESTS_MAX = 64
"""Digests that are kept by their type and password: most programs have one password for all ledgers."""

CODECS_MAX = 64
"""Payload sizes whose codec is kept: a stream of entries of equal size has few of them."""


def master_key(password: bytes) -> bytes:
    """Return the 20 bytes by which bookies recognize the clients that may add to a ledger or fence it."""
    return hashlib.sha1(b"ledger" + password).digest()


def _mac(password: bytes) -> Callable[[bytes, bytes], bytes]:
    keyed = hmac.new(hashlib.sha1(b"mac" + password).digest(), digestmod=hashlib.sha1)

    def compute(metadata: bytes, payload: bytes) -> bytes:
        code = keyed.copy()
        code.update(metadata)
        code.update(payload)
        return code.digest()

    return compute


def _of(checksum: Checksum, value: Callable[[int], bytes]) -> Callable[[bytes, bytes], bytes]:
    return lambda metadata, payload: value(checksum(payload, checksum(metadata)))


def _none(metadata: bytes, payload: bytes) -> bytes:
    return b""


def _other_ids(ledger_id: int, entry_id: int | None, found_ledger: int, found_entry: int) -> DigestMismatch:
    wanted, found = ledger_name(ledger_id), ledger_name(found_ledger)
    return DigestMismatch(f"asked for {wanted}/{entry_id}, got {found}/{found_entry}")


class SealedFormat:
    """Entries of one format with digests of one type."""

    def __init__(self, entries: EntryFormat, digest_type: DigestType) -> None:
        self.metadata_size = entries.metadata.size
        self.payload_offset = self.metadata_size + digest_type.value.size
        self.entry_id_at = entries.entry_id_at
        self.is_of = entries.is_of
        self._digest_type = digest_type
        self._records: dict[tuple[int, int], codecs.Codec] = {}
        if digest_type in _VALUES:
            sealed = construct.Struct("metadata" / construct.Bytes(self.metadata_size), "digest" / _VALUES[digest_type])
            self.sealed = codecs.derive("sealed entry", sealed)

    def records(self, prefix: int, payload_size: int) -> codecs.Codec:
        """Return the codec of ``prefix`` bytes and an entry with a payload of ``payload_size`` bytes."""
        codec = self._records.get((prefix, payload_size))
        if codec is None:
            if len(self._records) >= CODECS_MAX:
                self._records.clear()
            declaration = construct.Struct(
                "prefix" / construct.Bytes(prefix),
                "metadata" / construct.Bytes(self.metadata_size),
                "digest" / _VALUES[self._digest_type],
                "payload" / construct.Bytes(payload_size),
            )
            codec = self._records[prefix, payload_size] = codecs.derive("entry", declaration)
        return codec


class EntryDigest:
    """Seals and verifies the entries of ledgers of one digest type and password.

    Entries, and explicit last adds confirmed, of a ledger in scope 0 are of format V1, all others of V2.
    """

    def __init__(self, digest_type: DigestType, password: bytes) -> None:
        self.digest_type = digest_type
        """Which digest entries have."""
        self.size = digest_type.value.size
        """Bytes of a digest."""
        self.master_key = master_key(password)
        """The 20 bytes by which bookies know the writers and fencers of such ledgers."""
        self._v1 = SealedFormat(V1, digest_type)
        self._v2 = SealedFormat(V2, digest_type)
        self._flags = v2.flags_of(digest_type.value.number)
        self.payload_offset = self._v1.payload_offset
        """Bytes before the payload of an entry in scope 0."""
        self._checksum = _CHECKSUMS.get(digest_type)
        self._compute: Callable[[bytes, bytes], bytes] = _none
        if digest_type is DigestType.MAC:
            self._compute = _mac(password)
        if self._checksum is not None:
            value = codecs.derive("digest", construct.Struct("value" / _VALUES[digest_type]))
            self._compute = _of(self._checksum, value.pack_fixed)
            self._unpack_sealed = self._v1.sealed.unpack_fixed

    @property
    def checksum(self) -> Checksum | None:
        """The function that computes the digest of ``metadata + payload``; None for MAC and DUMMY."""
        return self._checksum

    def format_of(self, ledger_id: int) -> SealedFormat:
        """Return the format of the entries of this ledger."""
        return self._v1 if ledger_id < SCOPED_MIN else self._v2

    def payload_offset_of(self, ledger_id: int) -> int:
        """Return how many bytes are before the payload in entries of this ledger."""
        return self.format_of(ledger_id).payload_offset

    def seal(self, ledger_id: int, entry_id: int, last_add_confirmed: int, length: int, payload: bytes) -> bytes:
        """Return the entry as it is sent and stored."""
        if ledger_id < SCOPED_MIN:
            metadata = ENTRY_METADATA.pack_fixed(ledger_id, entry_id, last_add_confirmed, length)
        else:
            ids = (*split(ledger_id), entry_id)
            metadata = V2.metadata.pack_fixed(self._flags, *ids, last_add_confirmed, length)
        return metadata + self._compute(metadata, payload) + payload

    def seal_run(
        self, ledger_id: int, first: int, last_add_confirmed: int, length: int, payloads: Iterable[bytes]
    ) -> list[bytes]:
        """Return the entries ``first``, … with ``payloads``; ``length`` is that of the ledger before them, in bytes."""
        entries: list[bytes] = []
        if ledger_id >= SCOPED_MIN:
            for entry_id, payload in enumerate(payloads, first):
                length += len(payload)
                entries.append(self.seal(ledger_id, entry_id, last_add_confirmed, length, payload))
            return entries
        pack, compute = ENTRY_METADATA.pack_fixed, self._compute
        for entry_id, payload in enumerate(payloads, first):
            length += len(payload)
            metadata = pack(ledger_id, entry_id, last_add_confirmed, length)
            entries.append(metadata + compute(metadata, payload) + payload)
        return entries

    def seal_last_add_confirmed(self, ledger_id: int, last_add_confirmed: int) -> bytes:
        """Return the body of a WRITE_LAC request."""
        if ledger_id < SCOPED_MIN:
            metadata = LAC_METADATA.pack_fixed(ledger_id, last_add_confirmed)
        else:
            metadata = V2.explicit_lac.pack_fixed(self._flags, *split(ledger_id), last_add_confirmed)
        return metadata + self._compute(metadata, b"")

    def verify(self, ledger_id: int, entry_id: int | None, entry: bytes) -> tuple[int, int, int, bytes]:
        """Return entry id, last add confirmed, length and payload of ``entry``.

        ``entry_id`` None accepts any id (a read of the last entry).  Raises :class:`.DigestMismatch` for an entry that
        is too short, of another id, format or digest type, or whose digest does not match.
        """
        if ledger_id >= SCOPED_MIN:
            return self._verify_scoped(ledger_id, entry_id, entry)
        if len(entry) < self.payload_offset:
            raise DigestMismatch(f"entry {entry_id} of ledger {ledger_name(ledger_id)} has only {len(entry)} bytes")
        payload, checksum = entry[self.payload_offset :], self._checksum
        wanted: int | bytes
        if checksum is not None:
            metadata, wanted = self._unpack_sealed(entry)
            digest: int | bytes = checksum(payload, checksum(metadata))
        else:
            metadata, wanted = entry[:METADATA_SIZE], entry[METADATA_SIZE : self.payload_offset]
            digest = self._compute(metadata, payload)
        if digest != wanted:
            raise DigestMismatch(f"entry {entry_id} of ledger {ledger_name(ledger_id)} does not match its digest")
        found_ledger, found_entry, last_add_confirmed, length = ENTRY_METADATA.unpack_fixed(metadata)
        if found_ledger != ledger_id or entry_id not in (None, found_entry):
            raise _other_ids(ledger_id, entry_id, found_ledger, found_entry)
        return found_entry, last_add_confirmed, length, payload

    def _verify_scoped(self, ledger_id: int, entry_id: int | None, entry: bytes) -> tuple[int, int, int, bytes]:
        """Do the work of :meth:`verify` for format V2; apart, because each single read goes through ``verify``."""
        form = self._v2
        if len(entry) < form.payload_offset:
            raise DigestMismatch(f"entry {entry_id} of ledger {ledger_name(ledger_id)} has only {len(entry)} bytes")
        metadata, payload = entry[: form.metadata_size], entry[form.payload_offset :]
        if self._compute(metadata, payload) != entry[form.metadata_size : form.payload_offset]:
            raise DigestMismatch(f"entry {entry_id} of ledger {ledger_name(ledger_id)} does not match its digest")
        flags, scope_id, lower_id, found_entry, last_add_confirmed, length = V2.metadata.unpack_fixed(metadata)
        self._check_flags(flags)
        found_ledger = join(scope_id, lower_id)
        if found_ledger != ledger_id or entry_id not in (None, found_entry):
            raise _other_ids(ledger_id, entry_id, found_ledger, found_entry)
        return found_entry, last_add_confirmed, length, payload

    def verify_last_add_confirmed(self, ledger_id: int, body: bytes) -> int:
        """Return the last add confirmed in the body of a WRITE_LAC request; raises :class:`.DigestMismatch`."""
        codec = LAC_METADATA if ledger_id < SCOPED_MIN else V2.explicit_lac
        metadata = body[: codec.size]
        if len(metadata) < codec.size or self._compute(metadata, b"") != body[codec.size :]:
            raise DigestMismatch(
                f"explicit last add confirmed of ledger {ledger_name(ledger_id)} does not match its digest"
            )
        if ledger_id < SCOPED_MIN:
            found_ledger, last_add_confirmed = LAC_METADATA.unpack_fixed(metadata)
        else:
            flags, *halves, last_add_confirmed = V2.explicit_lac.unpack_fixed(metadata)
            self._check_flags(flags)
            found_ledger = join(*halves)
        if found_ledger != ledger_id:
            found, wanted = ledger_name(found_ledger), ledger_name(ledger_id)
            raise DigestMismatch(f"explicit last add confirmed of ledger {found}, not of {wanted}")
        return int(last_add_confirmed)

    def _check_flags(self, flags: int) -> None:
        if flags != self._flags:
            raise DigestMismatch(f"an entry of this ledger starts with {self._flags:#04x}, not with {flags:#04x}")

    def verify_run(self, run: EntryRun) -> list[bytes]:
        """Return the payloads of the verified prefix of ``run``: all of them, or those before the first bad entry."""
        if self._checksum is None:
            return self._verify_each(run.ledger_id, run.first_entry_id, run)
        if type(run.offsets) is range and run.count >= EQUAL_MIN:
            return self._verify_equal(run, run.offsets)
        return self._verify_uneven(run)

    def _verify_each(self, ledger_id: int, first_entry_id: int, entries: Iterable[bytes]) -> list[bytes]:
        payloads: list[bytes] = []
        for entry_id, entry in enumerate(entries, first_entry_id):
            try:
                payloads.append(self.verify(ledger_id, entry_id, entry)[3])
            except DigestMismatch:
                break
        return payloads

    def _verify_uneven(self, run: EntryRun) -> list[bytes]:
        """Verify entries of any size, their digests one by one and then the ids of all that are good."""
        form = self.format_of(run.ledger_id)
        buffer, offsets, prefix = run.buffer, run.offsets, run.prefix
        ends = offsets[1:]
        sizes = list(map(sub, ends, offsets))
        if sizes and min(sizes) < prefix + form.payload_offset:
            whole = next(index for index, size in enumerate(sizes) if size < prefix + form.payload_offset)
            ends = ends[:whole]
        unpack, payload_at, checksum = form.sealed.unpack_fixed, form.payload_offset, self._checksum
        assert checksum is not None
        payloads: list[bytes] = []
        heads: list[bytes] = []
        start = offsets[0] + prefix
        for end in ends:
            metadata, digest = unpack(buffer, start)
            payload = buffer[start + payload_at : end]
            if digest != checksum(payload, checksum(metadata)):
                break
            payloads.append(payload)
            heads.append(metadata)
            start = end + prefix
        del payloads[self.right_ids(form, run, b"".join(heads), 0, form.metadata_size, len(heads)) :]
        return payloads

    def _verify_equal(self, run: EntryRun, offsets: range) -> list[bytes]:
        """Verify entries of one size: their ids a byte column at a time, their digests in one pass."""
        form = self.format_of(run.ledger_id)
        start, stride, count, prefix = offsets.start, offsets.step, len(offsets) - 1, run.prefix
        payload_size = stride - prefix - form.payload_offset
        if payload_size < 0:
            return []
        count = self.right_ids(form, run, run.buffer, start + prefix, stride, count)
        payloads: list[bytes] = []
        append, checksum = payloads.append, self._checksum
        assert checksum is not None
        records = form.records(prefix, payload_size).iter_fixed(memoryview(run.buffer)[start : start + count * stride])
        for _, metadata, digest, payload in records:
            if digest != checksum(payload, checksum(metadata)):
                break
            append(payload)
        return payloads

    def right_ids(self, form: SealedFormat, run: EntryRun, buffer: bytes, start: int, stride: int, count: int) -> int:
        """Return how many of ``count`` entries at ``start``, up to the first wrong one, have the ids of ``run``."""
        if not count or not form.is_of(run.ledger_id, buffer[start : start + form.metadata_size]):
            return 0
        if form is self._v2 and buffer[start] != self._flags:
            return 0
        count = equal_frames(buffer, start, stride, count, form.entry_id_at)
        return ascending_ids(buffer, start + form.entry_id_at, stride, count, run.first_entry_id)


@lru_cache(DIGESTS_MAX)
def shared_digest(digest_type: DigestType, password: bytes) -> EntryDigest:
    """Return the digest of this type and password, the same one for all ledgers that have both.

    A digest of its own for each of thousands of ledgers would be brought into the processor's cache for each entry.
    """
    return EntryDigest(digest_type, password)

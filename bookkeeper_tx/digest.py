"""Master key, and the four digests: compute and verify (docs/protocol/entry.md)."""

import hashlib
import hmac
import zlib
from collections.abc import Callable, Iterable, Sequence
from operator import sub

import construct
import crc32c

from bookkeeper_tx.entry_run import ENTRY_METADATA, EntryRun
from bookkeeper_tx.errors import DigestMismatch
from bookkeeper_tx.frame_runs import ascending_ids, equal_frames
from bookkeeper_tx.model import DigestType
from protocol_specs import codecs
from protocol_specs.entry import v1

LAC_METADATA = codecs.derive("explicit last add confirmed", v1.LAC_METADATA)
METADATA_SIZE = ENTRY_METADATA.size

Checksum = Callable[..., int]

_CHECKSUMS: dict[DigestType, Checksum] = {DigestType.CRC32: zlib.crc32, DigestType.CRC32C: crc32c.crc32c}
_VALUES = {DigestType.CRC32: construct.Int64ub, DigestType.CRC32C: construct.Int32ub}

EQUAL_MIN = 8
"""Fewer entries than this are verified faster one by one."""

CODECS_MAX = 64
"""Payload sizes whose codec is kept: streams of entries of equal size have few of them."""


def master_key(password: bytes) -> bytes:
    """Return the 20 bytes by which bookies know the writers and fencers of a ledger."""
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


class EntryDigest:
    """Seals and verifies the entries of ledgers of one digest type and password."""

    def __init__(self, digest_type: DigestType, password: bytes) -> None:
        self.digest_type = digest_type
        self.size = digest_type.value.size
        self.master_key = master_key(password)
        self.payload_offset = METADATA_SIZE + self.size
        self._checksum = _CHECKSUMS.get(digest_type)
        self._compute: Callable[[bytes, bytes], bytes] = _none
        if digest_type is DigestType.MAC:
            self._compute = _mac(password)
        if self._checksum is not None:
            value = codecs.derive("digest", construct.Struct("value" / _VALUES[digest_type]))
            self._compute = _of(self._checksum, value.pack_fixed)
            sealed = construct.Struct("metadata" / construct.Bytes(METADATA_SIZE), "digest" / _VALUES[digest_type])
            self._sealed = codecs.derive("sealed entry", sealed)
        self._codecs: dict[tuple[int, int], codecs.Codec] = {}

    def seal(self, ledger_id: int, entry_id: int, last_add_confirmed: int, length: int, payload: bytes) -> bytes:
        """Return the entry as it is sent and stored."""
        metadata = ENTRY_METADATA.pack_fixed(ledger_id, entry_id, last_add_confirmed, length)
        return metadata + self._compute(metadata, payload) + payload

    def seal_last_add_confirmed(self, ledger_id: int, last_add_confirmed: int) -> bytes:
        """Return the body of a WRITE_LAC request."""
        metadata = LAC_METADATA.pack_fixed(ledger_id, last_add_confirmed)
        return metadata + self._compute(metadata, b"")

    def verify(self, ledger_id: int, entry_id: int | None, entry: bytes) -> tuple[int, int, int, bytes]:
        """Return entry id, last add confirmed, length and payload of ``entry``.

        ``entry_id`` None accepts any id (a read of the last entry).  Raises :class:`DigestMismatch` for an entry that
        is too short, of another id, or whose digest does not match.
        """
        if len(entry) < self.payload_offset:
            raise DigestMismatch(f"entry {entry_id} of ledger {ledger_id} has only {len(entry)} bytes")
        metadata, payload = entry[:METADATA_SIZE], entry[self.payload_offset :]
        found_ledger, found_entry, last_add_confirmed, length = ENTRY_METADATA.unpack_fixed(metadata)
        if self._compute(metadata, payload) != entry[METADATA_SIZE : self.payload_offset]:
            raise DigestMismatch(f"entry {entry_id} of ledger {ledger_id} does not match its digest")
        if found_ledger != ledger_id or entry_id not in (None, found_entry):
            raise DigestMismatch(f"asked for {ledger_id}/{entry_id}, got {found_ledger}/{found_entry}")
        return found_entry, last_add_confirmed, length, payload

    def verify_last_add_confirmed(self, ledger_id: int, body: bytes) -> int:
        """Return the last add confirmed in the body of a WRITE_LAC request; raises :class:`DigestMismatch`."""
        metadata = body[: LAC_METADATA.size]
        if len(metadata) < LAC_METADATA.size or self._compute(metadata, b"") != body[LAC_METADATA.size :]:
            raise DigestMismatch(f"explicit last add confirmed of ledger {ledger_id} does not match its digest")
        found_ledger, last_add_confirmed = LAC_METADATA.unpack_fixed(metadata)
        if found_ledger != ledger_id:
            raise DigestMismatch(f"explicit last add confirmed of ledger {found_ledger}, not of {ledger_id}")
        return int(last_add_confirmed)

    def verify_run(self, run: EntryRun) -> list[bytes]:
        """Return the payloads of the verified prefix of ``run``: all of them, or those before the first bad entry."""
        if self._checksum is None:
            return self._verify_each(run.ledger_id, run.first_entry_id, run)
        if type(run.offsets) is range and run.count >= EQUAL_MIN:
            return self._verify_equal(run.ledger_id, run.first_entry_id, run.buffer, run.offsets, run.prefix)
        return self._verify_uneven(run.ledger_id, run.first_entry_id, run.buffer, run.offsets, run.prefix)

    def _verify_each(self, ledger_id: int, first_entry_id: int, entries: Iterable[bytes]) -> list[bytes]:
        payloads: list[bytes] = []
        for entry_id, entry in enumerate(entries, first_entry_id):
            try:
                payloads.append(self.verify(ledger_id, entry_id, entry)[3])
            except DigestMismatch:
                break
        return payloads

    def _verify_uneven(
        self, ledger_id: int, first_entry_id: int, buffer: bytes, offsets: Sequence[int], prefix: int
    ) -> list[bytes]:
        """Verify entries of any size, their digests one by one and then the ids of all that are good.

        Each starts ``prefix`` bytes behind its offset and ends at the next one.
        """
        ends = offsets[1:]
        sizes = list(map(sub, ends, offsets))
        if min(sizes, default=0) < prefix + self.payload_offset:
            whole = next(index for index, size in enumerate(sizes) if size < prefix + self.payload_offset)
            ends = ends[:whole]
        unpack, payload_at, checksum = self._sealed.unpack_fixed, self.payload_offset, self._checksum
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
        del payloads[_right_ids(ledger_id, first_entry_id, b"".join(heads), 0, METADATA_SIZE, len(heads)) :]
        return payloads

    def _verify_equal(
        self, ledger_id: int, first_entry_id: int, buffer: bytes, offsets: range, prefix: int
    ) -> list[bytes]:
        """Verify entries of one size: their ids a byte column at a time, their digests in one pass.

        Each starts ``prefix`` bytes behind its offset.
        """
        start, stride, count = offsets.start, offsets.step, len(offsets) - 1
        payload_size = stride - prefix - self.payload_offset
        if payload_size < 0:
            return []
        count = _right_ids(ledger_id, first_entry_id, buffer, start + prefix, stride, count)
        payloads: list[bytes] = []
        append, checksum = payloads.append, self._checksum
        assert checksum is not None
        records = self._records(prefix, payload_size).iter_fixed(memoryview(buffer)[start : start + count * stride])
        for _, metadata, digest, payload in records:
            if digest != checksum(payload, checksum(metadata)):
                break
            append(payload)
        return payloads

    def _records(self, prefix: int, payload_size: int) -> codecs.Codec:
        """Return the codec of an entry with a payload of ``payload_size`` bytes, behind ``prefix`` bytes."""
        codec = self._codecs.get((prefix, payload_size))
        if codec is None:
            if len(self._codecs) >= CODECS_MAX:
                self._codecs.clear()
            declaration = construct.Struct(
                "prefix" / construct.Bytes(prefix),
                "metadata" / construct.Bytes(METADATA_SIZE),
                "digest" / _VALUES[self.digest_type],
                "payload" / construct.Bytes(payload_size),
            )
            codec = self._codecs[prefix, payload_size] = codecs.derive("entry", declaration)
        return codec


def _right_ids(ledger_id: int, first_entry_id: int, buffer: bytes, start: int, stride: int, count: int) -> int:
    """Return how many of ``count`` entries at ``start`` are of this ledger, their ids counting up from the first."""
    if not count or ENTRY_METADATA.unpack_fixed(buffer, start)[0] != ledger_id:
        return 0
    entry_id_at = ENTRY_METADATA.offsets["entry_id"]
    count = equal_frames(buffer, start, stride, count, entry_id_at)
    return ascending_ids(buffer, start + entry_id_at, stride, count, first_entry_id)

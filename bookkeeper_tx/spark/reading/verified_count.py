"""How many entries of a run are good: the number of payloads that ``EntryDigest.verify_run`` gives, without them.

Entries of one size are copied, all at once, without their digests.  Then metadata and payload, which are not adjacent
as stored, need only one checksum call.  That takes numpy; without it, and for other entries, verify_run is called.
"""

from functools import lru_cache
from itertools import starmap

import construct

from bookkeeper_tx.entry.digest import EQUAL_MIN, Checksum, EntryDigest, SealedFormat
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs import codecs

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

PAYLOAD_MAX = 4096
"""Bytes of a payload up to which a copy takes less time than a second call."""


def verified_count(digest: EntryDigest, run: EntryRun) -> int:
    """Return how many entries of ``run`` precede the first that is bad."""
    offsets, checksum = run.offsets, digest.checksum
    form = digest.format_of(run.ledger_id)
    if numpy is not None and checksum is not None and type(offsets) is range and run.count >= EQUAL_MIN:
        payload_size = offsets.step - run.prefix - form.payload_offset
        if 0 <= payload_size <= PAYLOAD_MAX:
            return _count_equal(digest, checksum, form, run, offsets)
    return len(digest.verify_run(run))


def _count_equal(digest: EntryDigest, checksum: Checksum, form: SealedFormat, run: EntryRun, offsets: range) -> int:
    start, stride = offsets.start + run.prefix, offsets.step
    count = digest.right_ids(form, run, run.buffer, start, stride, run.count)
    if not count:
        return 0
    records = numpy.frombuffer(run.buffer, numpy.uint8, count * stride, offsets.start).reshape(count, stride)
    entries = records[:, run.prefix :]
    metadata, payload = form.metadata_size, form.payload_offset
    unsealed = numpy.empty((count, entries.shape[1] - payload + metadata), numpy.uint8)
    unsealed[:, :metadata] = entries[:, :metadata]
    unsealed[:, metadata:] = entries[:, payload:]
    digests = numpy.zeros((count, 8), numpy.uint8)
    digests[:, 8 - (payload - metadata) :] = entries[:, metadata:payload]
    computed = numpy.fromiter(
        starmap(checksum, _rows(unsealed.shape[1]).iter_fixed(unsealed.data)), numpy.uint64, count
    )
    wrong = numpy.flatnonzero(digests.view(">u8")[:, 0] != computed)
    return int(wrong[0]) if len(wrong) else count


@lru_cache(64)
def _rows(size: int) -> codecs.Codec:
    return codecs.derive("entry without digest", construct.Struct("entry" / construct.Bytes(size)))

"""The count of good entries equals that of verify_run, whatever is wrong with the others."""

from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.reading import verified_count as module
from bookkeeper_tx.spark.reading.verified_count import PAYLOAD_MAX, verified_count
from protocol_specs.ledger_id import SCOPED_MIN

DIGESTS = {kind: EntryDigest(kind, b"secret") for kind in DigestType}
LEDGER_IDS = st.one_of(st.integers(0, 2**63 - 1), st.integers(SCOPED_MIN, 2**128 - 1))


@st.composite
def runs(draw):
    """A run with a prefix of any size, in which some bytes may be changed."""
    digest = DIGESTS[draw(st.sampled_from(DigestType))]
    ledger_id, first = draw(LEDGER_IDS), draw(st.integers(0, 2**62))
    count, prefix = draw(st.integers(0, 20)), draw(st.sampled_from([0, 4, 24]))
    equal = draw(st.booleans())
    sizes = [draw(st.integers(0, 40))] * count if equal else draw(st.lists(st.integers(0, 40), max_size=20))
    ahead = draw(st.binary(max_size=3))
    buffer, offsets = bytearray(ahead), [len(ahead)]
    wrong = draw(st.sampled_from([None, "id", "ledger"]))
    for entry_id, size in enumerate(sizes, first):
        named = entry_id + 1 if wrong == "id" and draw(st.integers(0, 5)) == 0 else entry_id
        owner = ledger_id ^ 1 if wrong == "ledger" and draw(st.integers(0, 5)) == 0 else ledger_id
        buffer += bytes(prefix) + digest.seal(
            owner, named, named - 1, size, draw(st.binary(min_size=size, max_size=size))
        )
        offsets.append(len(buffer))
    for _ in range(draw(st.integers(0, 2))):
        if buffer:
            buffer[draw(st.integers(0, len(buffer) - 1))] ^= 1 << draw(st.integers(0, 7))
    given = array("Q", offsets)
    if len(offsets) > 1 and len({end - start for start, end in pairwise(offsets)}) == 1:
        given = range(offsets[0], offsets[-1] + 1, offsets[1] - offsets[0])
    return digest, EntryRun(ledger_id, first, bytes(buffer), given, prefix)


@given(runs())
def test_as_many_as_verify_run_gives(drawn):
    digest, run = drawn
    assert verified_count(digest, run) == len(digest.verify_run(run))


@given(runs(), st.integers(1, 70))
def test_also_of_pieces_that_are_no_entries(drawn, stride):
    digest, run = drawn
    count = len(run.buffer) // stride
    cut = EntryRun(run.ledger_id, run.first_entry_id, run.buffer, range(0, count * stride + 1, stride), run.prefix)
    assert verified_count(digest, cut) == len(digest.verify_run(cut))


@pytest.mark.parametrize("kind", DigestType, ids=lambda kind: kind.name)
@pytest.mark.parametrize("size", [0, 100, PAYLOAD_MAX, PAYLOAD_MAX + 1])
@pytest.mark.parametrize("bad", [None, 0, 7, 11])
def test_of_any_size(kind, size, bad):
    digest = DIGESTS[kind]
    entries = [digest.seal(5, each, -1, 0, bytes([each]) * size) for each in range(12)]
    if bad is not None:
        entries[bad] = entries[bad][:-1] + bytes([entries[bad][-1] ^ 128])
    run = EntryRun.of_entries(5, 0, entries)
    run.offsets = range(0, len(run.buffer) + 1, 4 + len(entries[0]))
    if kind is DigestType.DUMMY:
        bad = None
    assert verified_count(digest, run) == (12 if bad is None else bad)


def test_without_numpy(monkeypatch):
    monkeypatch.setattr(module, "numpy", None)
    digest = DIGESTS[DigestType.CRC32C]
    run = EntryRun.of_entries(5, 0, [digest.seal(5, each, -1, 0, b"x") for each in range(12)])
    assert verified_count(digest, run) == 12

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.integrity.shares import is_in, settled_end, shares
from bookkeeper_tx.model import Fragment, LedgerMetadata, LedgerState
from bookkeeper_tx.quorums.quorum import Quorum

BOOKIES = ["b1", "b2", "b3", "b4"]


@st.composite
def ledgers(draw: st.DrawFn) -> LedgerMetadata:
    ensemble_size = draw(st.integers(1, 4))
    write = draw(st.integers(1, ensemble_size))
    firsts = [0, *sorted(draw(st.sets(st.integers(1, 30), max_size=3)))]
    fragments = [Fragment(each, tuple(draw(st.permutations(BOOKIES))[:ensemble_size])) for each in firsts]
    metadata = LedgerMetadata(ensemble_size, write, write, fragments)
    if draw(st.booleans()):
        return metadata.with_close(draw(st.integers(-1, 40)), 0)
    return metadata.with_state(draw(st.sampled_from([LedgerState.OPEN, LedgerState.IN_RECOVERY])))


def expected(metadata: LedgerMetadata, bookie_id: str) -> set[int]:
    """Return the entries of a bookie, asked one by one."""
    found = set()
    for entry_id in range(settled_end(metadata) + 1):
        fragment = [each for each in metadata.fragments if each.first_entry_id <= entry_id][-1]
        if bookie_id in [fragment.ensemble[index] for index in Quorum.of(metadata).write_set(entry_id)]:
            found.add(entry_id)
    return found


@given(
    metadata=ledgers(),
    bookie_id=st.sampled_from(BOOKIES),
    here=st.lists(st.tuples(st.integers(0, 45), st.integers(0, 9))),
)
def test_what_is_missing_is_what_the_metadata_say_and_is_not_here(
    metadata: LedgerMetadata, bookie_id: str, here: list[tuple[int, int]]
) -> None:
    stretches = [range(start, start + size) for start, size in here]
    found = [ids for share in shares(metadata, bookie_id) for ids in share.missing(share.ids, stretches)]
    ids = [each for stretch in found for each in stretch]
    assert ids == sorted(expected(metadata, bookie_id) - {each for stretch in stretches for each in stretch})
    assert all(found)
    assert is_in(metadata, bookie_id) or not ids


def test_the_end_of_a_ledger_that_is_written_is_not_settled() -> None:
    metadata = LedgerMetadata(1, 1, 1, [Fragment(0, ("b1",)), Fragment(7, ("b2",))])
    assert settled_end(metadata) == 6
    assert [share.ids for share in shares(metadata, "b1")] == [range(7)]
    assert shares(metadata, "b2") == []
    assert [share.ids for share in shares(metadata.with_close(8, 0), "b2")] == [range(7, 9)]

"""Which entries of a ledger a bookie should have, by the metadata of the ledger."""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from bookkeeper_tx.model import BookieId, LedgerMetadata
from bookkeeper_tx.quorums.quorum import Quorum


@frozen
class Share:
    """The part of a fragment that goes to one bookie."""

    ids: range
    """The entries of the fragment."""
    write_sets: Sequence[bool]
    """Whether the bookie has an entry, by its id modulo the ensemble's size."""

    def missing(self, ids: range, here: Iterable[range]) -> list[range]:
        """Return which of ``ids`` the bookie should have, and are not ``here``, as ascending ranges."""
        present = set[int]()
        for stretch in here:
            present.update(range(max(stretch.start, ids.start), min(stretch.stop, ids.stop)))
        size, write_sets = len(self.write_sets), self.write_sets
        return list(_ranges(each for each in ids if write_sets[each % size] and each not in present))


def is_in(metadata: LedgerMetadata, bookie_id: BookieId) -> bool:
    """Tell whether a bookie should have entries of a ledger, or may get some."""
    return any(bookie_id in fragment.ensemble for fragment in metadata.fragments)


def settled_end(metadata: LedgerMetadata) -> int:
    """Return the id of the last entry that surely exists: of a ledger that is not closed, before its last fragment."""
    return metadata.last_entry_id if metadata.closed else metadata.last_fragment.first_entry_id - 1


def shares(metadata: LedgerMetadata, bookie_id: BookieId) -> list[Share]:
    """Return the shares of a bookie in the fragments of a ledger, up to :func:`settled_end`."""
    quorum, end = Quorum.of(metadata), settled_end(metadata)
    firsts = [fragment.first_entry_id for fragment in metadata.fragments]
    found = []
    for fragment, following in zip(metadata.fragments, [*firsts[1:], end + 1], strict=True):
        ids = range(fragment.first_entry_id, min(following, end + 1))
        if bookie_id in fragment.ensemble and ids:
            index = fragment.ensemble.index(bookie_id)
            found.append(Share(ids, [index in write_set for write_set in quorum.write_sets]))
    return found


def _ranges(ids: Iterable[int]) -> Iterator[range]:
    start = stop = -1
    for each in ids:
        if each != stop:
            if stop > start:
                yield range(start, stop)
            start = each
        stop = each + 1
    if stop > start:
        yield range(start, stop)

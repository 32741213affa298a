"""The entries of a micro-batch: from the offset of the stream and the ends of the ledgers follows the end of the batch.

The rules, which hold between batches (within one, Spark promises no order):

* The entries of a ledger come in order, each once.
* No entry of a ledger comes before the last one of a *sealed* ledger that stands before it.  So the entries of a writer
  that closes each ledger before it creates the next are read in the order of writing.
* Ledgers that are still open are written at the same time, so none has to wait for another: they share a batch evenly.

Pure: no clock, no metadata store, no bookie.
"""

from collections.abc import Iterable, Sequence

from attrs import frozen

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.spark.options.id_ranges import NO_IDS, IdRanges
from bookkeeper_tx.spark.options.offsets import Edge, Offsets
from bookkeeper_tx.spark.stream.offsets import StreamOffset


@frozen
class LedgerEnd:
    """How far a ledger can be read now."""

    ledger_id: int
    end: int
    """The number of its entries that can be read: one more than the last entry id."""
    sealed: bool
    """Whether nothing follows: the ledger is closed, or gone."""
    entry_bytes: int = 0
    """Payload bytes of an entry on average, rounded up; 0 if that is not known."""


@frozen
class Limit:
    """The limit of a micro-batch; None is no limit.  At most one of the two is given."""

    entries: int | None = None
    bytes: int | None = None
    """Payload bytes, by the average size of the ledger's entries: a batch may have somewhat more or less."""

    @property
    def budget(self) -> int | None:
        return self.entries if self.bytes is None else self.bytes

    def cost(self, ledger: LedgerEnd) -> int:
        """Return how much of the budget one entry of the ledger takes."""
        return 1 if self.bytes is None else max(1, ledger.entry_bytes)


NO_LIMIT = Limit()


@frozen
class _Backlog:
    """The entries of a ledger that are still to be read."""

    ledger: LedgerEnd
    count: int
    cost: int


def plan_end(
    start: StreamOffset, known: Sequence[LedgerEnd], limit: Limit = NO_LIMIT, passed: IdRanges = NO_IDS
) -> StreamOffset:
    """Return the end of the batch that begins at ``start``.

    ``known`` are the ledgers to read in the order of reading (finished ones do no harm), ``passed`` ids of ledgers that
    are never read.  With nothing to do, this returns ``start`` itself, so that Spark sees the same text and starts no
    batch.  If a ledger that was begun turns out to be sealed, there is something to do, even if no entry is left: its
    end goes on record once, and from then on the ledger may be deleted.
    """
    unfinished = [each for each in known if not start.is_finished(each.ledger_id)]
    taken = _shares([_backlog(start, each, limit) for each in unfinished], limit.budget)
    opened = dict(start.open)
    closed: dict[int, int] = {}
    empty: list[int] = []
    for ledger in unfinished:
        position = start.position(ledger.ledger_id) + taken.get(ledger.ledger_id, 0)
        if not ledger.sealed or position < ledger.end:
            opened[ledger.ledger_id] = position
        elif position:
            opened.pop(ledger.ledger_id, None)
            closed[ledger.ledger_id] = position
        else:
            empty.append(ledger.ledger_id)
    if not closed and not any(taken.values()):
        return start
    finished = start.all_finished() | passed | IdRanges.of(empty)
    return StreamOffset(finished - IdRanges.of([*opened, *closed]), opened, closed)


def _backlog(start: StreamOffset, ledger: LedgerEnd, limit: Limit) -> _Backlog:
    return _Backlog(ledger, max(0, ledger.end - start.position(ledger.ledger_id)), limit.cost(ledger))


def _shares(backlogs: Sequence[_Backlog], budget: int | None) -> dict[int, int]:
    """Return how many entries of each ledger the batch has; at least one if any entry is left."""
    if budget is None:
        return {each.ledger.ledger_id: each.count for each in backlogs}
    taken: dict[int, int] = {}
    for group in _groups([each for each in backlogs if each.count]):
        shares = _even_shares(group, budget)
        taken.update({each.ledger.ledger_id: share for each, share in zip(group, shares, strict=True)})
        budget -= sum(each.cost * share for each, share in zip(group, shares, strict=True))
        if not any(taken.values()):  # the very first entry is larger than a batch may be, so the batch is that entry
            taken[group[0].ledger.ledger_id] = 1
            break
        if shares != [each.count for each in group]:
            break
    return taken


def _groups(backlogs: Iterable[_Backlog]) -> Iterable[list[_Backlog]]:
    """Yield the ledgers that may be read side by side: up to a sealed ledger, whose end all later ones wait for."""
    group: list[_Backlog] = []
    for each in backlogs:
        group.append(each)
        if each.ledger.sealed:
            yield group
            group = []
    if group:
        yield group


def _even_shares(group: Sequence[_Backlog], budget: int) -> list[int]:
    """Return entries for each: as evenly as backlogs allow; the rest that rounding leaves goes to the first ones."""
    shares = [0] * len(group)
    smallest_first = sorted(range(len(group)), key=lambda index: group[index].count * group[index].cost)
    for left, index in zip(range(len(group), 0, -1), smallest_first, strict=True):
        shares[index] = min(group[index].count, budget // left // group[index].cost)
        budget -= shares[index] * group[index].cost
    for index, each in enumerate(group):
        more = min(each.count - shares[index], budget // each.cost)
        shares[index] += more
        budget -= more * each.cost
    return shares


@frozen
class EntriesOfLedger:
    """Consecutive entries of a ledger."""

    ledger_id: int
    first: int
    last: int
    """Inclusive."""


def entries_between(start: StreamOffset, end: StreamOffset) -> list[EntriesOfLedger]:
    """Return the entries of a batch from ``start`` to ``end``, by ledger id; they follow from the two offsets alone."""
    found = []
    for ledger_id, position in sorted({**end.open, **end.closed}.items()):
        first = start.position(ledger_id)
        if first < position:
            found.append(EntriesOfLedger(ledger_id, first, position - 1))
    return found


def first_offset(known: Sequence[LedgerEnd], offsets: Offsets, passed: IdRanges = NO_IDS) -> StreamOffset:
    """Return the first offset of a stream; ledgers that are not known yet are read from their first entry.

    ``known`` and ``passed`` as in :func:`plan_end`.  Raises InvalidConfig for offsets of ledgers that are not known.
    """
    unknown = set(offsets.of_ledger) - {each.ledger_id for each in known}
    if unknown:
        names = ", ".join(ledger_name(each) for each in sorted(unknown))
        raise InvalidConfig(f"startingOffsets names ledgers that are not there, or not among the chosen ones: {names}")
    positions = {}
    finished = []
    for ledger in known:
        position = offsets.resolved(ledger.ledger_id, ledger.end)
        if ledger.sealed and position >= ledger.end and offsets.of(ledger.ledger_id) is not Edge.EARLIEST:
            finished.append(ledger.ledger_id)
        else:
            positions[ledger.ledger_id] = position
    done = IdRanges.of(finished)
    if offsets.default is Edge.LATEST:
        done = done | passed - IdRanges.of(positions)
    return StreamOffset(done, positions)

"""The replicas of the entries of one fragment: the order to ask them in, and which of their errors to report."""

from collections.abc import Callable, Sequence

from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.errors import (
    BatchReadNotSupported,
    BookieUnavailable,
    BookKeeperError,
    DigestMismatch,
    LocalError,
    NoSuchEntry,
    NoSuchLedger,
)
from bookkeeper_tx.model import BookieId, Fragment, ledger_name
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields


class Replicas:
    """The bookies of one fragment and the channels to them."""

    __slots__ = ("bookies", "channels", "first_entry_id", "last_entry_id", "write_sets")

    def __init__(
        self,
        context: ClientContext,
        ledger_id: int,
        quorum: Quorum,
        fragment: Fragment,
        next_first_entry_id: int | None,
    ) -> None:
        self.first_entry_id = fragment.first_entry_id
        self.last_entry_id = fields.ENTRY_ID_MAX if next_first_entry_id is None else next_first_entry_id - 1
        self.bookies: Sequence[BookieId] = fragment.ensemble
        self.channels: Sequence[Channel] = tuple(context.channel(each, ledger_id) for each in fragment.ensemble)
        self.write_sets = quorum.write_sets

    def order(self, entry_id: int, context: ClientContext) -> Sequence[int]:
        """Return the indices of the bookies that store ``entry_id``, those that are slow or in quarantine last."""
        write_set = self.write_sets[entry_id % len(self.bookies)]
        if not context.bookies.quarantined and not context.reads.last:
            return write_set
        return sorted(write_set, key=self.rank(context))

    def rank(self, context: ClientContext) -> Callable[[int], tuple[bool, float]]:
        """Return the function that says how late a bookie is asked, by its index."""
        bookies, rank = self.bookies, context.rank()
        return lambda index: rank(bookies[index])


def of_replica(error: BookKeeperError, ledger_id: int, entry_id: int, bookie_id: BookieId) -> BookKeeperError:
    """Return ``error`` with the names of entry, ledger and bookie."""
    if isinstance(error, LocalError):
        return error
    if isinstance(error, DigestMismatch):
        return DigestMismatch(f"bookie {bookie_id}: {error}")
    return type(error)(f"entry {entry_id} of ledger {ledger_name(ledger_id)} on bookie {bookie_id}: {error}")


def more_telling(former: BookKeeperError | None, error: BookKeeperError) -> BookKeeperError:
    """Return that error of two replicas which says more.

    An answer other than "no such entry" says most, "no such entry" least; a missing answer lies between them.  That a
    bookie has no batch read, of a read that may do nothing else, is told before all.
    """
    if former is None or isinstance(error, BatchReadNotSupported):
        return error
    if isinstance(former, BatchReadNotSupported):
        return former
    absent = (NoSuchEntry, NoSuchLedger)
    if isinstance(former, absent):
        return former if isinstance(error, absent) else error
    if isinstance(former, BookieUnavailable) and not isinstance(error, absent):
        return error
    return former

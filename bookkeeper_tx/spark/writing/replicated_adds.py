"""Adds of one ledger to several bookies at once, without a reactor.

An entry is *confirmed* when every bookie of its write set has acknowledged it, except bookies that were given up, and
no bookie is given up unless an ack quorum is left in every write set.  That is more than the ack quorum that the
protocol asks for.  A program that writes in bulk and publishes later would gain nothing by not waiting for the last
replica, and so the ledger is complete when it is closed.  When a bookie fails, no entry is confirmed that it has not
acknowledged, until the caller gives the bookie up or moves on to another ledger.
"""

import selectors
import time
from collections.abc import Callable, Sequence

from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    LedgerFenced,
    NotEnoughBookies,
    ProtocolViolation,
    RemoteError,
    RequestTimedOut,
    TlsFailed,
    Unauthorized,
)
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.protocol.client.v2_add_runs import add_requests
from bookkeeper_tx.protocol.client.v2_answers import error_of_code
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.writing.add_channel import AddChannel
from bookkeeper_tx.spark.writing.owed_replies import OwedReplies
from protocol_specs import fields


class _Replica:
    """One bookie of the ensemble."""

    def __init__(self, index: int, channel: AddChannel) -> None:
        self.index = index
        self.channel = channel
        self.owed = OwedReplies()
        self.error: RemoteError | None = None
        self.given_up = False
        self.waiting_since_s = 0.0
        """When the bookie last answered, or took bytes."""


class ReplicatedAdds:
    """Sends the entries of one ledger to its ensemble; ``channels`` are in the ensemble's order."""

    def __init__(
        self,
        ledger_id: int,
        quorum: Quorum,
        master_key: bytes,
        channels: Sequence[AddChannel],
        add_timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
        selector: selectors.BaseSelector | None = None,
    ) -> None:
        self._ledger_id = ledger_id
        self._quorum = quorum
        self._master_key = master_key
        self._timeout_s = add_timeout_s
        self._clock = clock
        self._replicas = [_Replica(index, channel) for index, channel in enumerate(channels)]
        self._next_entry_id = fields.FIRST_ENTRY_ID
        self._selector = selector or selectors.DefaultSelector()
        for replica in self._replicas:
            self._selector.register(replica.channel, selectors.EVENT_READ, replica)

    @property
    def confirmed(self) -> int:
        """Id of the last entry that is confirmed with all before it; NO_ENTRY at first."""
        owed = [each.owed.first for each in self._replicas if not each.given_up]
        return min((first for first in owed if first is not None), default=self._next_entry_id) - 1

    @property
    def owed(self) -> bool:
        """Whether a working bookie still owes answers."""
        return any(each.owed for each in self._replicas if each.error is None)

    @property
    def broken(self) -> dict[BookieId, RemoteError]:
        """The bookies that have failed and were not given up, with the error of each."""
        found = ((each.channel.bookie_id, each.error) for each in self._replicas if not each.given_up)
        return {bookie_id: error for bookie_id, error in found if error is not None}

    @property
    def given_up(self) -> tuple[BookieId, ...]:
        """The bookies that lack entries of this ledger."""
        return tuple(each.channel.bookie_id for each in self._replicas if each.given_up)

    @property
    def striped(self) -> bool:
        """Whether some bookies do not get every entry; entries of such a ledger go by :meth:`send` only."""
        return self._quorum.striped

    def send_to_all(self, frames: bytes | memoryview, count: int) -> None:
        """Queue the requests for the next ``count`` entries for every bookie; :meth:`turn` sends them."""
        ids = self._next_ids(count)
        for replica in self._replicas:
            if not replica.given_up:
                self._queue(replica, ids, frames)

    def send(self, entries: Sequence[bytes]) -> None:
        """Queue the next sealed ``entries`` for the bookies of their write sets; :meth:`turn` sends them."""
        ids = self._next_ids(len(entries))
        write_sets, size = self._quorum.write_sets, self._quorum.ensemble_size
        for replica in self._replicas:
            if replica.given_up:
                continue
            own = [entry_id for entry_id in ids if replica.index in write_sets[entry_id % size]]
            frames = add_requests(self._master_key, [entries[entry_id - ids.start] for entry_id in own]) if own else b""
            self._queue(replica, own, frames)

    def _next_ids(self, count: int) -> range:
        first = self._next_entry_id
        self._next_entry_id += count
        return range(first, first + count)

    def _queue(self, replica: _Replica, ids: Sequence[int], frames: bytes | memoryview) -> None:
        if not replica.owed:
            replica.waiting_since_s = self._clock()
        replica.owed.sent(ids)
        if replica.error is None and frames:
            replica.channel.queue(frames)

    def turn(self, wait: bool) -> None:
        """Send and receive once as much as the sockets allow; with ``wait``, wait for one, at most the add timeout.

        Raises LedgerFenced, Unauthorized and AuthenticationFailed, since every other bookie would answer the same; a
        bookie that fails in another way is in :attr:`broken` afterwards.
        """
        working = [each for each in self._replicas if each.error is None]
        for replica in working:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if replica.channel.unsent else 0)
            self._selector.modify(replica.channel, events, replica)
        ready = self._selector.select(self._patience_s(working) if wait else 0) if working else []
        for key, mask in ready:
            self._serve(key.data, mask)
        now = self._clock()
        for replica in working:
            if replica.error is None and replica.owed and now - replica.waiting_since_s >= self._timeout_s:
                self._broke(
                    replica,
                    RequestTimedOut(f"bookie {replica.channel.bookie_id} did not answer for {self._timeout_s:g} s"),
                )

    def give_up(self) -> None:
        """Go on without the bookies that broke; raises NotEnoughBookies unless each write set keeps an ack quorum."""
        lost = [each for each in self._replicas if each.error is not None]
        left = {each.index for each in self._replicas} - {each.index for each in lost}
        if any(len(left.intersection(each)) < self._quorum.ack_quorum_size for each in self._quorum.write_sets):
            reasons = "; ".join(f"{each.channel.bookie_id}: {each.error}" for each in lost)
            raise NotEnoughBookies(
                f"too many bookies of ledger {ledger_name(self._ledger_id)} fail and there are no others ({reasons}); "
                "start more bookies"
            )
        for each in lost:
            each.given_up = True

    def close(self) -> None:
        """Stop watching the channels, which stay open for the next ledger."""
        self._selector.close()

    def _patience_s(self, working: Sequence[_Replica]) -> float:
        waiting = [each.waiting_since_s for each in working if each.owed]
        return max(min(waiting, default=self._clock()) + self._timeout_s - self._clock(), 0.0)

    def _serve(self, replica: _Replica, mask: int) -> None:
        try:
            if mask & selectors.EVENT_WRITE:
                replica.channel.send()
                # A bookie cannot answer unsent bytes: the caller may not have called since the socket was full.
                replica.waiting_since_s = self._clock()
            if mask & selectors.EVENT_READ:
                self._take(replica)
        except (LedgerFenced, Unauthorized):
            raise
        except (BookieUnavailable, ProtocolViolation, TlsFailed) as error:
            self._broke(replica, error)

    def _take(self, replica: _Replica) -> None:
        for replies in replica.channel.receive():
            if replies.ledger_id != self._ledger_id:
                continue
            error = error_of_code(replies.status)
            if isinstance(error, (LedgerFenced, Unauthorized)):
                raise type(error)(f"ledger {ledger_name(self._ledger_id)}, bookie {replica.channel.bookie_id}: {error}")
            if error is not None:
                self._broke(replica, error)
                return
            replica.owed.answered(replies.entry_ids)
            replica.waiting_since_s = self._clock()

    def _broke(self, replica: _Replica, error: BookKeeperError) -> None:
        assert isinstance(error, RemoteError)
        replica.error = error
        self._selector.unregister(replica.channel)
        replica.channel.close()

"""Asking the replicas of an entry until one gives what is wanted: the next after an error, or while one is slow."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from bookkeeper_tx.client.bookie_watcher import NOT_ASKED
from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.replicas import Replicas, more_telling, of_replica
from bookkeeper_tx.driver import Timer
from bookkeeper_tx.errors import BookKeeperError, ClientClosed
from bookkeeper_tx.model import BookieId


class Attempt:
    """One request of a read to one replica."""

    __slots__ = ("_late", "_over", "_read", "bookie_id", "channel")

    def __init__(self, read: "ReplicaRead", bookie_id: BookieId, channel: Channel) -> None:
        self._read = read
        self.bookie_id = bookie_id
        self.channel = channel
        self._late = self._over = False

    def again(self) -> "Attempt":
        """Return an attempt for one more request to the replica, after its answer to this one."""
        return Attempt(self._read, self.bookie_id, self.channel)

    def replied(self, error: BookKeeperError | None, value: Any) -> None:
        """Take the answer, the ``done`` of the request."""
        read = self._read
        self._over = True
        if self._late:
            read.reader.context.reads.paid(self.bookie_id)
        if error is None:
            read.take(self, value)
        else:
            read.refused(self, error)

    def slow(self) -> None:
        """The answer takes longer than others did: have the next replica asked as well.

        It does nothing after the answer: what a request waited for may be told late.
        """
        if not self._late and not self._over:
            self._late = True
            self._read.reader.context.reads.owes(self.bookie_id)
            self._read.ask_another()


class ReplicaRead(ABC):
    """A read that asks one replica of ``entry_id``, and the next one when that has failed or is slow.

    The first good answer counts.  When all have failed, the metadata is read again, and the replicas of a new fragment
    are asked, once.  With ``fast_fail`` no congested bookie is asked.
    """

    __slots__ = (
        "_asking",
        "_error",
        "_fast_fail",
        "_left",
        "_over",
        "_patience",
        "_replicas",
        "_retried",
        "entry_id",
        "reader",
    )

    def __init__(self, reader: LedgerView, entry_id: int, fast_fail: bool = False) -> None:
        self.reader = reader
        self.entry_id = entry_id
        self._fast_fail = fast_fail
        self._replicas: Replicas
        self._left: list[int] = []
        """The replicas that are not asked yet, in order."""
        self._asking = 0
        """The number of those that have not answered."""
        self._error: BookKeeperError | None = None
        self._retried = self._over = False
        self._patience: Timer | None = None
        """Until every replica may be asked, those too that are slow themselves."""

    def start(self) -> None:
        """Ask the first replica in the order of :meth:`Replicas.order`."""
        self._replicas = self.reader.replicas_of(self.entry_id)
        self._left = list(self._replicas.order(self.entry_id, self.reader.context))
        self._ask_next()

    def begun(self, replicas: Replicas) -> Attempt:
        """Go on from a request that was made already, to the first of ``replicas``."""
        write_set: Sequence[int] = self.reader.quorum.write_set(self.entry_id)
        self._replicas, self._left = replicas, list(write_set[1:])
        return self._attempt(write_set[0])

    @abstractmethod
    def _request(self, attempt: Attempt) -> None:
        """Send the request of an attempt."""

    @abstractmethod
    def _check(self, attempt: Attempt, value: Any) -> None:
        """End with what a replica has given; call :meth:`failed` if it is not good."""

    @abstractmethod
    def _fail(self, error: BookKeeperError) -> None:
        """End with ``error``."""

    # Answers ---------------------------------------------------------------------------------------------------------

    def take(self, attempt: Attempt, value: Any) -> None:
        """Take the value that a replica has given, unless another was faster."""
        if not self._over:
            self._check(attempt, value)

    def refused(self, attempt: Attempt, error: BookKeeperError) -> None:
        """Take the error of a replica."""
        self.failed(attempt, error)

    def failed(self, attempt: Attempt, error: BookKeeperError) -> None:
        """Ask the next replica, after ``error`` of one."""
        self._asking -= 1
        self.reader.context.bookies.quarantine(attempt.bookie_id, error)
        if self._over:
            return
        if isinstance(error, ClientClosed):
            self._end()
            self._fail(error)
            return
        self._note(attempt.bookie_id, error)
        self._left.sort(key=self._replicas.rank(self.reader.context))
        self._ask_next()

    def ask_another(self) -> None:
        """Ask one more replica that is not slow itself; if there is none, the next one after some more time."""
        if self._over or not self._left:
            return
        context = self.reader.context
        for index in self._left:
            bookie_id = self._replicas.bookies[index]
            asked_last = bookie_id in context.reads.last or bookie_id in context.bookies.quarantined
            if not asked_last and not self._avoided(index):
                self._left.remove(index)
                self._request(self._attempt(index))
                return
        if self._patience is None:
            pace = context.reads.pace(self._replicas.bookies[self._left[0]])
            self._patience = context.clock.callLater(pace.speculation_s, self._out_of_patience)

    # Inner part ------------------------------------------------------------------------------------------------------

    def _out_of_patience(self) -> None:
        self._patience = None
        if self._left and self.reader.context.reads.may_insist():
            self._ask_next()

    def _ask_next(self) -> None:
        """Ask the next replica; after the last, and when none is asked any more, look for other ones or fail."""
        while self._left:
            index = self._left.pop(0)
            if self._avoided(index):
                self._note(self._replicas.bookies[index], NOT_ASKED)
            else:
                self._request(self._attempt(index))
                return
        if self._asking:
            return
        if self._retried:
            self._give_up()
        else:
            self._retried = True
            self.reader.after_failure(self.entry_id, self._replicas, self._again, self._give_up)

    def _avoided(self, index: int) -> bool:
        return self._fast_fail and self._replicas.channels[index].congested

    def _attempt(self, index: int) -> Attempt:
        self._asking += 1
        return Attempt(self, self._replicas.bookies[index], self._replicas.channels[index])

    def _note(self, bookie_id: BookieId, error: BookKeeperError) -> None:
        """Keep the error, with the name of its bookie, unless another one says more."""
        named = of_replica(error, self.reader.ledger_id, self.entry_id, bookie_id)
        self._error = more_telling(self._error, named)

    def _again(self) -> None:
        """The ledger has another fragment there now: ask its bookies."""
        self._error = None
        self._end_patience()
        self.start()

    def _give_up(self) -> None:
        assert self._error is not None
        self._end()
        self._fail(self._error)

    def _end(self) -> None:
        """Take no more answers."""
        self._over = True
        self._end_patience()

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

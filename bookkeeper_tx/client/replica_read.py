"""Asking the replicas of an entry one after another, until one gives what is wanted."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from bookkeeper_tx.client.bookie_watcher import NOT_ASKED
from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.replicas import Replicas, more_telling, of_replica
from bookkeeper_tx.errors import BookKeeperError, ClientClosed
from bookkeeper_tx.model import BookieId


class ReplicaRead(ABC):
    """A read that asks one replica of ``entry_id`` at a time.

    When all have failed, the metadata is read again, and the replicas of a new fragment are asked, once.  With
    ``fast_fail`` no congested bookie is asked.
    """

    __slots__ = ("_at", "_error", "_fast_fail", "_order", "_reader", "_replicas", "_retried", "entry_id")

    def __init__(self, reader: LedgerView, entry_id: int, fast_fail: bool = False) -> None:
        self._reader = reader
        self.entry_id = entry_id
        self._fast_fail = fast_fail
        self._replicas: Replicas
        self._order: Sequence[int] = ()
        self._at = 0
        self._error: BookKeeperError | None = None
        self._retried = False

    def start(self) -> None:
        """Ask the first replica in the order of :meth:`Replicas.order`."""
        self._replicas = self._reader.replicas_of(self.entry_id)
        self._order = self._replicas.order(self.entry_id, self._reader.context)
        self._ask()

    def go_on(self, replicas: Replicas, error: BookKeeperError) -> None:
        """Go on after the first of ``replicas`` has failed with ``error``."""
        self._replicas, self._order = replicas, self._reader.quorum.write_set(self.entry_id)
        self._ask_next(error)

    @abstractmethod
    def _ask_replica(self, bookie_id: BookieId, channel: Channel) -> None:
        """Send the request to this replica; call :meth:`_ask_next` with its error."""

    @abstractmethod
    def _fail(self, error: BookKeeperError) -> None:
        """End with ``error``."""

    @property
    def _channel(self) -> Channel:
        """The replica that is asked."""
        return self._replicas.channels[self._order[self._at]]

    @property
    def _bookie_id(self) -> BookieId:
        return self._replicas.bookies[self._order[self._at]]

    def _ask(self) -> None:
        channel = self._channel
        if self._fast_fail and channel.congested:
            self._ask_next(NOT_ASKED)
        else:
            self._ask_replica(self._bookie_id, channel)

    def _ask_next(self, error: BookKeeperError) -> None:
        """Ask the next replica, after ``error`` of the one asked last."""
        if isinstance(error, ClientClosed):
            self._fail(error)
            return
        reader, bookie_id = self._reader, self._bookie_id
        reader.context.bookies.quarantine(bookie_id, error)
        self._error = more_telling(self._error, of_replica(error, reader.ledger_id, self.entry_id, bookie_id))
        self._at += 1
        if self._at < len(self._order):
            self._ask()
        elif self._retried:
            self._give_up()
        else:
            self._retried = True
            reader.after_failure(self.entry_id, self._replicas, self._again, self._give_up)

    def _again(self) -> None:
        """The ledger has another fragment there now: ask its bookies."""
        self._error, self._at = None, 0
        self.start()

    def _give_up(self) -> None:
        assert self._error is not None
        self._fail(self._error)

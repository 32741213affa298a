"""The interface that a client expects of its connections."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.protocol.client.requests.request import Request

Done = Callable[[BookKeeperError | None, Any], Any]
"""Called exactly once with an error or a value, and only after the call that it was passed to has returned.

One that reads may have a method ``slow``, or be a method of an object that has: it is told when the bookie takes longer
than it did before (:func:`~bookkeeper_tx.protocol.client.slow_requests.tell_slow`)."""

AddsDone = Callable[[BookKeeperError | None, Any], Any]
"""Called with the id of the first entry that is not acknowledged, whenever it has grown; from the first error on, with
the ids of entries that were acknowledged, or that have the error.  That goes on until each entry is answered once; a
time-out and a lost connection answer those that were not.  An error with None is that of all, of which none was sent.
It is called only after the call that it was passed to has returned."""


class Channel(Protocol):
    """Requests to one bookie, whatever connections they need."""

    @property
    def interruptions(self) -> int:
        """How often the connection for adds was lost, or could not be made.

        While there is a connection and this number stays the same, the bookie process is the same.
        """

    @property
    def congested(self) -> bool:
        """Whether adds and reads would wait behind bytes that the bookie does not take."""

    def before_send(self, call: Callable[[], None]) -> bool:
        """Have ``call``, which makes requests, called once before the next bytes are sent.

        Returns False, and does nothing, if there is no connection that bytes could be sent on.
        """

    def add_entry(
        self,
        ledger_id: int,
        entry_id: int,
        entry: bytes,
        master_key: bytes,
        done: Done,
        flags: int = 0,
        deferred_sync: bool = False,
    ) -> None: ...

    def add_entries(
        self,
        ledger_id: int,
        first_entry_id: int,
        entries: Sequence[bytes],
        master_key: bytes,
        done: AddsDone,
    ) -> None: ...

    def read_entry(
        self, ledger_id: int, entry_id: int, done: Done, flags: int = 0, master_key: bytes | None = None
    ) -> None: ...

    def read_range(
        self, ledger_id: int, first_entry_id: int, last_entry_id: int, done: Done, size_max: int | None = None
    ) -> None: ...

    def send(self, request: Request, done: Done, own_connection: bool = False) -> Callable[[], None]:
        """Make any other request; call the returned function to give it up: ``done`` is not called then.

        With ``own_connection`` it has a connection to itself, as the first of its kind has to a bookie that may not
        know it.
        """


class Channels(Protocol):
    """The channels to all bookies."""

    def channel(self, bookie_id: BookieId) -> Channel: ...

    def close(self) -> Promise[None]: ...

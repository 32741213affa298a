"""The interface of a client's connection in either protocol version: requests out, completions in; no IO, no clock."""

from collections.abc import Callable
from typing import Any, Protocol

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.protocol.client.completion import Completion
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.slow_requests import Tell


class ClientConnection(Protocol):
    """A client's side of a connection to one bookie.

    Requests are encoded into :meth:`data_to_send`; :meth:`receive` gives completions.  The token of a request is never
    None, and comes back with exactly one completion, whatever happens.  A request that this protocol version cannot
    express is not sent; its completion comes from :meth:`expire`.
    """

    # Requests --------------------------------------------------------------------------------------------------------

    def add_entry(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        entry_id: int,
        entry: bytes,
        master_key: bytes,
        flags: int = 0,
    ) -> None:
        """Ask to add ``entry``, as sealed by a digest; completes with None."""

    def read_entry(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        entry_id: int,
        flags: int = 0,
        master_key: bytes | None = None,
    ) -> None:
        """Ask for an entry; completes with its bytes, not verified."""

    def read_range(
        self, token: Any, deadline: float, ledger_id: int, first: int, last: int, size_max: int | None = None
    ) -> None:
        """Ask for the entries ``first`` … ``last`` one by one.

        Completes once: with the EntryRun, not verified, of the entries before the first error, or with that error if
        it is the very first entry's.  With ``size_max`` it completes once it has so many bytes of entries; the others
        were asked for all the same, and are dropped when they come, unless they are asked for again.
        """

    def send(self, request: Request, token: Any, deadline: float) -> Callable[[], object]:
        """Make any other request; completes with the value that it says.

        Call the returned function to forget the request: it does not complete then.
        """

    def data_to_send(self) -> bytes:
        """Return, once, the bytes of the requests made since the last call."""

    # Replies ---------------------------------------------------------------------------------------------------------

    answered: float | None
    """The earliest deadline of the requests that the last :meth:`receive` has answered, or gone on to answer; None if
    it has answered none."""
    read_answered: float | None
    """The same of reads alone: they have the same time-out, so this says how long the oldest of them took."""

    @property
    def unfinished(self) -> bool:
        """Whether a part of a frame is here: nobody knows yet which request it answers."""

    def receive(self, data: bytes) -> list[Completion]:
        """Return the completions of the replies in ``data``.

        Raises :class:`ProtocolViolation` for bytes that are no reply; the connection is of no use then, and
        :meth:`fail_all` returns the completions of the replies before those bytes and of all requests that wait.
        """

    # Time and end ----------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Whether any request waits for its reply."""

    @property
    def reading(self) -> bool:
        """Whether a read waits for its reply."""

    def tell_slow(self, deadline: float, tell: Tell) -> float:
        """Tell each read, once, that waits with a deadline up to this one; it goes on waiting.

        ``tell(token)`` returns the token to keep in its place.  Returns the earliest deadline of the reads that are not
        told yet, infinity if there is none.
        """

    def expire(self, now: float) -> list[Completion]:
        """Complete the requests that wait past their deadline, each with RequestTimedOut, and those refused here."""

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        """Complete everything that waits with ``error``."""

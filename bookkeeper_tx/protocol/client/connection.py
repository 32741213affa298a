"""What both dialects have in common for a client: requests out, completions in; no IO, no clock."""

from typing import Any, Protocol

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.protocol.client.completion import Completion


class ClientConnection(Protocol):
    """A client's side of a connection to one bookie.

    Requests are encoded into :meth:`data_to_send`; :meth:`receive` gives completions.  A token given with a request,
    which is never None, comes back with exactly one completion, whatever happens; what cannot be asked in this dialect
    comes back from :meth:`expire`, and nothing is sent of it.
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

    def read_range(self, token: Any, deadline: float, ledger_id: int, first: int, last: int) -> None:
        """Ask for the entries ``first`` … ``last`` one by one.

        Completes once: with the EntryRun, not verified, of those before the first that cannot be had, or with the error
        of the very first.
        """

    def batch_read(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        start_entry_id: int,
        max_count: int,
        max_size: int,
        flags: int = 0,
        master_key: bytes | None = None,
    ) -> None:
        """Ask for a batch; completes with an EntryRun whose entries are not verified."""

    def data_to_send(self) -> bytes:
        """Return, once, the bytes of the requests made since the last call."""

    # Replies ---------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Completion]:
        """Return what the replies in ``data`` complete.

        Raises :class:`ProtocolViolation` for bytes that no reply has; the connection is of no use then, and
        :meth:`fail_all` gives what came before them and says so to those that wait.
        """

    # Time and end ----------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Whether any request waits for its reply."""

    def expire(self, now: float) -> list[Completion]:
        """Return what has waited past its deadline, each with RequestTimedOut, and what was refused."""

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        """Complete everything that waits with ``error``."""

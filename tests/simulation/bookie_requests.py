"""What the clients of a simulated bookie ask, and what its replies have told them."""

from typing import Any

from bookkeeper_tx.protocol.bookie.v2 import AddRequests
from tests.bookie.seams import Client


class Told:
    """The state of one ledger that clients know of by replies, or may find."""

    def __init__(self, ledger_id: int) -> None:
        self.ledger_id = ledger_id
        self.sent: dict[int, list[bytes]] = {}
        """The copies of each entry."""
        self.seen: dict[int, bytes] = {}
        """The copies that were read of entries that must be stored: they stay."""
        self.acknowledged: set[int] = set()
        """Entries that must be stored; an add with deferred sync belongs here only after a force."""
        self.deferred: set[int] = set()
        """Entries acknowledged in this life that need not be on the disk."""
        self.fenced = False
        """Whether a fencing read was answered."""
        self.fence_asked = False
        self.last_add_confirmed: int | None = None
        """The highest explicit one that was acknowledged."""
        self.next_id = 0
        self.pending = 0
        """Requests that are not answered."""
        self.collected = False
        """Whether the bookie has said that it has deleted the ledger."""


class Reply(Client):
    """Calls ``then`` with the replies to one request."""

    def __init__(self, then: Any) -> None:
        super().__init__()
        self._then = then

    def reply(self, request: Any, status: Any, reply: Any) -> None:
        self._then(list(reply))


class Add(AddRequests):
    """A V2 add whose reply is its status."""

    def replies(self, status: Any) -> Any:
        return status


class DeferredAdd(Add):
    deferred_sync = True

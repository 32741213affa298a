"""Which bookies serve batch read, found out by asking (docs/protocol/batch-read.md).

A bookie without it may close the connection, say that it does not understand, or say nothing.  So the first batch read
to a bookie is sent while nothing else is in flight on its channel, and behind anything but an answer a single read
tells an old bookie from one that is down.
"""

from collections.abc import Callable, Collection

from bookkeeper_tx.errors import (
    BadRequest,
    BadVersion,
    BookieUnavailable,
    ProtocolViolation,
    RemoteError,
    RequestTimedOut,
)
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.transport.blocking import BlockingChannel

NOT_UNDERSTOOD = (BadRequest, BadVersion)
_NO_ANSWER = (BookieUnavailable, RequestTimedOut, ProtocolViolation)

PROBE_TIMEOUT_S = 5.0
"""How long a bookie may think about its first batch read, at most."""

PROBE_SIZE = 64 * 1024
"""Bytes asked for; the first entry comes whatever its size."""


class BatchSupport:
    """Remembers of each bookie whether it serves batch read."""

    def __init__(self, in_v3: Collection[BookieId], read_timeout_s: float) -> None:
        self._in_v3 = frozenset(in_v3)
        self._timeout_s = min(read_timeout_s, PROBE_TIMEOUT_S)
        self._serves: dict[BookieId, bool] = {}

    def serves_v3(self, bookie_id: BookieId) -> bool:
        return bookie_id in self._in_v3

    def serves_v2(
        self, bookie_id: BookieId, connect: Callable[[], BlockingChannel], ledger_id: int, entry_id: int
    ) -> bool:
        """Tell whether the bookie serves batch read in V2; ask it, for that entry, if that is not known.

        ``connect()`` gives a channel on which nothing is in flight.  Raises the error of a bookie that does not answer
        single reads either.
        """
        known = self._serves.get(bookie_id)
        if known is None:
            known = self._serves[bookie_id] = self._probe(connect, ledger_id, entry_id)
        return known

    def forget(self, bookie_id: BookieId) -> None:
        """Ask a bookie that served it once more."""
        if self._serves.get(bookie_id):
            del self._serves[bookie_id]

    def _probe(self, connect: Callable[[], BlockingChannel], ledger_id: int, entry_id: int) -> bool:
        channel = connect()
        try:
            channel.result(channel.start_batch_read(ledger_id, entry_id, 1, PROBE_SIZE), self._timeout_s)
        except NOT_UNDERSTOOD:
            return False
        except _NO_ANSWER:
            try:
                connect().read_entry(ledger_id, entry_id)
            except _NO_ANSWER:
                raise
            except RemoteError:
                pass
            return False
        except RemoteError:
            pass
        return True

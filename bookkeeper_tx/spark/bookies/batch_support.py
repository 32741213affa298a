"""Which bookies serve batch read, found out by a first request (docs/protocol/batch-read.md).

A bookie without batch read may close the connection, or answer that it does not understand.  So the first batch read to
a bookie is sent while no other request is in flight on its channel.  If that is closed, a single read shows whether the
bookie is old or down.
"""

from collections.abc import Callable, Collection

from bookkeeper_tx.client.capability import Capability, told_by_batch_probe, told_by_plain_read
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.transport.blocking import BlockingChannel

PROBE_TIMEOUT_S = 5.0
"""How long a bookie may take to answer its first batch read, at most."""

PROBE_SIZE = 64 * 1024
"""Bytes asked for by the first batch read; its first entry comes whatever its size."""


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
        """Tell whether the bookie serves batch read in V2; if that is not known, send it a batch read of that entry.

        ``connect()`` gives a channel with no request in flight.  Raises the error of a bookie of which that cannot be
        told: it did not answer in time, or a single read neither.
        """
        known = self._serves.get(bookie_id)
        if known is None:
            known = self._serves[bookie_id] = self._probe(connect, ledger_id, entry_id)
        return known

    def forget(self, bookie_id: BookieId) -> None:
        """Forget that a bookie served batch read: it will be asked once more."""
        if self._serves.get(bookie_id):
            del self._serves[bookie_id]

    def _probe(self, connect: Callable[[], BlockingChannel], ledger_id: int, entry_id: int) -> bool:
        channel = connect()
        token = channel.start_batch_read(ledger_id, entry_id, 1, PROBE_SIZE)
        error = _error_of(lambda: channel.result(token, self._timeout_s))
        if isinstance(error, BookieUnavailable):
            lost, error = error, _error_of(lambda: connect().read_entry(ledger_id, entry_id))
            told = told_by_plain_read(lost, error)
        else:
            told = told_by_batch_probe(error)
        if told is Capability.UNKNOWN and error is not None:
            raise error
        return told is Capability.SERVES


def _error_of(ask: Callable[[], object]) -> BookKeeperError | None:
    try:
        ask()
    except BookKeeperError as error:
        return error
    return None

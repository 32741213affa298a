"""Batch read from one bookie, and the probe whether the bookie has batch read (docs/protocol/batch-read.md).

A bookie without batch read may close the connection on such a request, which would fail every other request on it.  So
the first batch read to a bookie of unknown capability travels on a connection of its own.  If that connection is
closed, a plain read distinguishes an old bookie from one that is down.  In V3, where batch read is an extension of
ours, bookies publish that they serve it; only a bookie that publishes nothing at all is probed.
"""

from collections.abc import Callable
from typing import Any

from attrs import define

from bookkeeper_tx.client.capability import UNANSWERED, Capability, told_by_batch_probe, told_by_plain_read
from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.published import ask_published
from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import (
    NOT_UNDERSTOOD,
    BatchReadNotSupported,
    BookieUnavailable,
    BookKeeperError,
)
from bookkeeper_tx.model import BookieId, BookieServiceInfo
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.slow_requests import tell_slow
from protocol_specs.metadata.bookie import BATCH_READ_V3

COUNT_MAX = 2**31 - 1
"""``maxCount`` is an int32 on the wire."""


@define(eq=False)
class BatchAttempt:
    """One batch read from one bookie.

    ``done(error, run)`` gets the unverified run, :class:`BatchReadNotSupported` from a bookie that lacks batch read, or
    the error of this bookie.
    """

    _context: ClientContext
    _bookie_id: BookieId
    _channel: Channel
    _ledger_id: int
    _start: int
    _max_count: int
    _max_size: int
    _done: Callable[[BookKeeperError | None, Any], None]
    _probing: bool = False
    """Whether others wait for this request."""
    _lost: BookieUnavailable | None = None
    """How the connection of the probe ended."""

    def start(self) -> None:
        """Send the request, or wait for the probe that another request has sent."""
        capabilities = self._context.capabilities
        capability = capabilities.of(self._bookie_id, self._channel.interruptions)
        if capability is Capability.SERVES:
            self._send(self._replied, own_connection=False)
        elif capability is Capability.LACKS:
            self._not_supported()
        elif capability is Capability.PROBED:
            capabilities.wait(self._bookie_id, self._probe_ended)
        else:
            capabilities.begin_probe(self._bookie_id)
            if self._context.config.protocol is WireProtocol.V2:
                self._probe()
            else:
                ask_published(self._context.driver, self._context.store, self._bookie_id, self._published)

    def slow(self) -> None:
        """The bookie takes long: tell ``done``, and all that wait for what this request is to find out."""
        self._done = tell_slow(self._done)
        if self._probing:
            self._context.capabilities.slow(self._bookie_id)

    def _published(self, info: BookieServiceInfo | None) -> None:
        """Take the capability that the bookie publishes, or find out if nobody can tell in time."""
        if info is None and self._context.capabilities.ever_served(self._bookie_id):
            self._context.capabilities.serves(self._bookie_id)  # there was no interruption: it is the same process
            self.start()
        elif info is None or info.extensions is None:
            self._probe()
        elif BATCH_READ_V3 in info.extensions:
            self._context.capabilities.advertised(self._bookie_id)
            self.start()
        else:
            self._context.capabilities.lacks(self._bookie_id)
            self._not_supported()

    def _probe(self) -> None:
        self._probing = True
        self._send(self._probe_replied, own_connection=True)

    def _send(self, done: Callable[[BookKeeperError | None, EntryRun], None], own_connection: bool) -> None:
        request = ReadBatch(self._ledger_id, self._start, self._max_count, self._max_size)
        self._channel.send(request, done, own_connection)

    def _replied(self, error: BookKeeperError | None, run: EntryRun) -> None:
        capabilities, bookie_id = self._context.capabilities, self._bookie_id
        if error is None and not capabilities.ever_served(bookie_id):
            capabilities.serves(bookie_id)
        elif isinstance(error, NOT_UNDERSTOOD) and not capabilities.ever_served(bookie_id):
            # A former release of this bookie published it; the one that runs now lacks it.
            capabilities.lacks(bookie_id)
            self._not_supported()
            return
        if isinstance(error, BookieUnavailable):
            # The bookie is down, or an older release has taken its place: the next batch read is a probe again, so that
            # it cannot break a shared connection a second time.
            capabilities.unknown(bookie_id, error)
        self._done(self._about_request(error), run)

    def _about_request(self, error: BookKeeperError | None) -> BookKeeperError | None:
        """Return what a bookie that has batch read means by an error."""
        if not isinstance(error, NOT_UNDERSTOOD) or self._context.config.protocol is not WireProtocol.V3:
            return error
        # An entry as large as a frame fits the reply to a single read, and none to a batch read.
        return BatchReadNotSupported(
            f"bookie {self._bookie_id} reads no batch from entry {self._start} on, which is larger than a batch in V3"
        )

    def _probe_ended(self, error: BookKeeperError | None) -> None:
        if error is None:
            self.start()
        else:
            self._done(error, None)

    def _probe_replied(self, error: BookKeeperError | None, run: EntryRun) -> None:
        if isinstance(error, BookieUnavailable):
            self._lost = error
            self._channel.read_entry(self._ledger_id, self._start, self._plain_read_replied)
            return
        told = told_by_batch_probe(error, self._context.capabilities.ever_served(self._bookie_id))
        if told is Capability.SERVES:
            self._context.capabilities.serves(self._bookie_id)
            self._done(self._about_request(error), run)
        else:
            self._lacks_or_unknown(told, error)

    def _plain_read_replied(self, error: BookKeeperError | None, _: Any) -> None:
        lost = self._lost
        assert lost is not None
        told = told_by_plain_read(lost, error)
        if told is Capability.UNKNOWN and not isinstance(error, UNANSWERED):
            error = BatchReadNotSupported(
                f"bookie {self._bookie_id} could not be asked whether it has batch read, which takes a connection of "
                f"its own: {lost}"
            )
        self._lacks_or_unknown(told, error)

    def _lacks_or_unknown(self, told: Capability, error: BookKeeperError | None) -> None:
        if told is Capability.LACKS:
            self._context.capabilities.lacks(self._bookie_id)
            self._not_supported()
        else:
            assert error is not None
            self._context.capabilities.unknown(self._bookie_id, error)
            self._done(error, None)

    def _not_supported(self) -> None:
        self._done(BatchReadNotSupported(f"bookie {self._bookie_id} has no batch read"), None)


def require_batch_read(striped: bool, config: ClientConfig) -> None:
    """Raise :class:`BatchReadNotSupported` if the configuration or the ledger rules batch read out for any bookie."""
    if not config.batch_read_enabled:
        raise BatchReadNotSupported("batch read is switched off (ClientConfig.batch_read_enabled)")
    if striped:
        raise BatchReadNotSupported(
            "the ledger is striped (its ensemble is larger than its write quorum), so no bookie holds a run of entries"
        )

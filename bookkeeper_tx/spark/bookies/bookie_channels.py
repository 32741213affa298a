"""The connections of one reader, one for each bookie and protocol version, made when first needed."""

import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from types import TracebackType

from attrs import evolve

from bookkeeper_tx.config import QUARANTINE_S, ClientConfig, WireProtocol
from bookkeeper_tx.errors import (
    NO_ANSWER,
    QUARANTINED,
    AuthenticationFailed,
    AuthenticationUnanswered,
    BookKeeperError,
    CannotConnect,
    TlsFailed,
)
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.spark.bookies.batch_support import BatchSupport
from bookkeeper_tx.spark.bookies.rate_limit import RateLimit, RateLimiter
from bookkeeper_tx.transport.blocking import BlockingChannel
from protocol_specs.ledger_id import SCOPED_MIN

NOT_TRUSTED = (TlsFailed, AuthenticationFailed, AuthenticationUnanswered)
"""Errors of connecting that may take the whole connect time-out, and would come again."""

Connect = Callable[[str, int, ClientConfig], BlockingChannel]


class BookieChannels:
    """Channels to bookies, for one thread; a context manager.

    ``addresses`` are those of the bookies that are up; a bookie without an address counts as down.  Ledgers of scope 0
    are read in the protocol version ``config.protocol``, others always in V3.  ``batch_read_v3`` names the bookies that
    publish that they serve batch read in V3; in V2 each is asked.
    """

    def __init__(
        self,
        addresses: Mapping[BookieId, tuple[str, int]],
        config: ClientConfig | None = None,
        limits: RateLimit | None = None,
        *,
        batch_read_v3: Collection[BookieId] = (),
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        connect: Connect = BlockingChannel,
    ) -> None:
        self.config = config or ClientConfig()
        self._limiter = RateLimiter(limits, clock, sleep) if limits is not None else None
        self.batch_support = BatchSupport(batch_read_v3, self.config.read_timeout_s)
        self.sleep = sleep
        self._addresses = dict(addresses)
        self._clock = clock
        self._connect = connect
        self._channels: dict[tuple[BookieId, WireProtocol], BlockingChannel] = {}
        self._quarantined_until: dict[BookieId, float] = {}
        self._distrust: dict[BookieId, tuple[float, BookKeeperError]] = {}
        """The time until which a bookie is not connected to, and the error that is the reason."""

    def protocol_for(self, ledger_id: int) -> WireProtocol:
        """Return the protocol version in which this ledger is read."""
        return WireProtocol.V3 if ledger_id >= SCOPED_MIN else self.config.protocol

    def add_addresses(self, addresses: Mapping[BookieId, tuple[str, int]]) -> None:
        """Add or replace the addresses of these bookies."""
        self._addresses.update(addresses)

    def channel(self, bookie_id: BookieId, ledger_id: int) -> BlockingChannel:
        """Return a channel to the bookie, for requests about this ledger.

        Raises CannotConnect for a bookie that is not registered or cannot be connected to, and the other errors of
        :class:`BlockingChannel`.
        """
        protocol = self.protocol_for(ledger_id)
        channel = self._channels.get((bookie_id, protocol))
        if channel is None or channel.closed:
            address = self._addresses.get(bookie_id)
            if address is None:
                raise CannotConnect(f"bookie {bookie_id} is not registered: it is down, or was removed")
            channel = self._connected(bookie_id, address, protocol)
            self._channels[bookie_id, protocol] = channel
        return channel

    def _connected(self, bookie_id: BookieId, address: tuple[str, int], protocol: WireProtocol) -> BlockingChannel:
        until, known = self._distrust.get(bookie_id, (0.0, None))
        if known is not None and until > self._clock():
            raise type(known)(*known.args)
        try:
            return self._connect(*address, evolve(self.config, protocol=protocol))
        except NOT_TRUSTED as error:
            self.failed(bookie_id, error)
            raise

    def serves_batch(self, bookie_id: BookieId, ledger_id: int, entry_id: int) -> bool:
        """Tell whether the bookie serves batch read of this ledger; the first time it may be asked for that entry.

        No request may be in flight to it.  Raises its error if that cannot be told.
        """
        if self.protocol_for(ledger_id) is WireProtocol.V3:
            return self.batch_support.serves_v3(bookie_id)
        return self.batch_support.serves_v2(bookie_id, partial(self.channel, bookie_id, ledger_id), ledger_id, entry_id)

    def before_request(self, bookie_id: BookieId) -> None:
        """Wait until a request to this bookie may be sent."""
        if self._limiter is not None:
            self._limiter.wait(bookie_id)

    def received(self, bookie_id: BookieId, count: int, size: int) -> None:
        """Count the entries that a bookie has sent, and their bytes, for the rate limit."""
        if self._limiter is not None:
            self._limiter.moved(bookie_id, count, size)

    def failed(self, bookie_id: BookieId, error: BookKeeperError) -> None:
        """Put the bookie into quarantine if ``error`` is a failure of the bookie itself."""
        if isinstance(error, QUARANTINED):
            self._quarantined_until[bookie_id] = self._clock() + QUARANTINE_S
        if isinstance(error, NOT_TRUSTED):
            self._distrust[bookie_id] = self._clock() + QUARANTINE_S, error
        if isinstance(error, NO_ANSWER):
            # The next answer may come from another process, of an older release.
            self.batch_support.forget(bookie_id)

    def quarantined(self, bookie_id: BookieId) -> bool:
        """Tell whether the bookie is in quarantine: it failed lately, and is to be asked last."""
        until = self._quarantined_until.get(bookie_id)
        return until is not None and until > self._clock()

    def close(self) -> None:
        """Close every channel."""
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.close()

    def __enter__(self) -> "BookieChannels":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

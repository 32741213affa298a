"""Entries in order over as many ledgers as needed: the next ledger begins when one is full, or its bookies fail.

When a bookie fails:

* If there are other bookies for a whole ensemble, the ledger is closed at the last entry that *every* bookie of its
  write set has acknowledged, and the later entries are written again, to a new ledger on other bookies.  So each ledger
  is complete: every entry is on its full write quorum.  A change of the ensemble in mid-ledger could not promise that
  for entries that had reached their ack quorum only.
* If there are none, the ledger goes on without the bookie as long as every write set keeps an ack quorum.  Once it is
  closed, ``underReplicated`` in its custom metadata names the bookies that lack entries.  Autorecovery, or the bookie's
  return and a scrub, make it complete.  With fewer than an ack quorum, NotEnoughBookies is raised.

Order is kept: the ledgers in the order of :attr:`LedgerSequence.written`, the entries by their ids.
"""

import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import TracebackType
from typing import Self

from attrs import field, frozen

from bookkeeper_tx.client.writers_metadata import created
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookieUnavailable, InvalidArgument, LedgerExists, NotEnoughBookies, TlsFailed
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import BookieId, DigestType, Versioned
from bookkeeper_tx.protocol.v2_frames import ADD_REQUEST
from bookkeeper_tx.quorums.placement import Placement
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.bookies.rate_limit import RateLimit, RateLimiter
from bookkeeper_tx.spark.writing.add_channel import AddChannel
from bookkeeper_tx.spark.writing.ledger_writer import LedgerWriter, WrittenLedger
from bookkeeper_tx.spark.writing.replicated_adds import ReplicatedAdds

CHUNK_ENTRIES = 2_000
CHUNK_BYTES = 1024 * 1024
"""Entries sealed and sent together: small enough that bookies work on one chunk while the next is sealed."""
AVOIDED_S = 30.0
"""How long a bookie that failed is not written to, unless there is no other."""


@frozen(kw_only=True)
class LedgerPlan:
    """The settings of the ledgers of a sequence."""

    quorum: Quorum
    digest_type: DigestType = DigestType.CRC32C
    password: bytes = field(default=b"", repr=False)
    custom_metadata: Mapping[str, bytes] = field(factory=dict)
    ledger_bytes_max: int | None = None
    """Payload bytes after which another ledger begins; an entry is never split."""
    ledger_entries_max: int | None = None
    limits: RateLimit | None = None
    """How fast each bookie is written to."""


Connect = Callable[[BookieId], AddChannel]


class LedgerSequence:
    """Writes entries; a context manager, which on an error leaves the last ledger open, for the sweeper to find.

    ``connect`` makes the connection to a bookie.  It raises BookieUnavailable or TlsFailed for a bookie that others can
    replace, and AuthenticationFailed, which ends the writing: others would refuse our credentials, too.
    """

    def __init__(
        self,
        store: BlockingStore,
        plan: LedgerPlan,
        config: ClientConfig | None = None,
        connect: Connect | None = None,
        random: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        make_selector: Callable[[], selectors.BaseSelector] = selectors.DefaultSelector,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.written: list[WrittenLedger] = []
        self._store = store
        self._plan = plan
        self._config = config or ClientConfig()
        self._connect = connect or self._connect_to
        self._random = random or Random()
        self._placement = Placement(self._random)
        self._clock = clock
        self._make_selector = make_selector
        self._digest = EntryDigest(plan.digest_type, plan.password)
        self._payload_size_max = (
            self._config.frame_size_max - ADD_REQUEST.offsets["ledger_id"] - self._digest.payload_offset
        )
        self._channels: dict[BookieId, AddChannel] = {}
        self._avoided_until: dict[BookieId, float] = {}
        self._writer: LedgerWriter | None = None
        self._ensemble: tuple[BookieId, ...] = ()
        """The ensemble of the ledger that is being written."""
        limits = plan.limits or RateLimit()
        self._limiter = None if plan.limits is None else RateLimiter(limits, clock, sleep)
        entries, size = limits.portion()
        self._chunk_entries = min(CHUNK_ENTRIES, entries or CHUNK_ENTRIES)
        self._chunk_bytes = min(CHUNK_BYTES, size or CHUNK_BYTES)

    def append_many(self, payloads: Sequence[bytes]) -> None:
        """Write entries in this order; return while the last of them are still in flight.

        Raises InvalidArgument for an entry that is too large, NotEnoughBookies, LedgerFenced, Unauthorized, and the
        errors of the metadata store.
        """
        start = 0
        while start < len(payloads):
            writer = self._writer or self._begin()
            stop = self._chunk_end(payloads, start, writer)
            self._send(writer, payloads[start:stop])
            start = stop
            self._mend()
            if self._full(self._writer):
                self._finish()

    def close(self) -> list[WrittenLedger]:
        """Wait for all entries, close the last ledger; return all ledgers in order."""
        self._finish()
        return self.written

    def abandon(self) -> None:
        """Close the connections and leave the ledger open."""
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.abandon()

    # One ledger after the other --------------------------------------------------------------------------------------

    def _begin(self) -> LedgerWriter:
        """Create a ledger on bookies that can be connected to."""
        plan = self._plan
        try:
            channels = self._choose(plan.quorum.ensemble_size)
        except NotEnoughBookies:
            if not self._avoided_until:
                raise
            # A bookie that has failed lately is better than none.
            self._avoided_until.clear()
            channels = self._choose(plan.quorum.ensemble_size)
        self._ensemble = tuple(each.bookie_id for each in channels)
        ledger_id, versioned = self._create()
        adds = ReplicatedAdds(
            ledger_id,
            plan.quorum,
            self._digest.master_key,
            channels,
            self._config.add_timeout_s,
            self._clock,
            self._make_selector(),
        )
        self._writer = LedgerWriter(ledger_id, versioned, self._digest, adds)
        return self._writer

    def _create(self) -> tuple[int, Versioned]:
        """Take an id of scope 0 and store the metadata of an open ledger; return both."""
        plan = self._plan
        secret = (plan.digest_type, plan.password)
        metadata = created(plan.quorum, self._ensemble, *secret, plan.custom_metadata, time.time(), self._random)
        while True:
            ledger_id = self._store.new_ledger_id()
            try:
                return ledger_id, self._store.create_ledger(ledger_id, metadata)
            except LedgerExists:
                continue

    def _finish(self) -> None:
        """Close the ledger that is being written, if there is one, once all of it is confirmed."""
        while self._writer is not None:
            self._writer.settle()
            if self._writer.broken:
                self._mend()
                continue
            self._keep(self._writer)
            self._writer = None

    def _mend(self) -> None:
        """Move on to other bookies, or go on without the broken ones, until none of the present ones is broken."""
        while (writer := self._writer) is not None and writer.broken:
            until = self._clock() + AVOIDED_S
            self._avoided_until.update(dict.fromkeys(writer.broken, until))
            try:
                self._choose(self._plan.quorum.ensemble_size)
            except NotEnoughBookies:
                writer.go_on_without()
                continue
            rest = writer.take_back()
            self._keep(writer)
            self._writer = None
            for start in range(0, len(rest), self._chunk_entries):
                self._send(self._writer or self._begin(), rest[start : start + self._chunk_entries])

    def _send(self, writer: LedgerWriter, payloads: Sequence[bytes]) -> None:
        """Write entries to the ledger as soon as the rate limit of its bookies allows."""
        if self._limiter is not None:
            # Each bookie of a striped ledger gets only this share of the entries.
            share = self._plan.quorum.write_quorum_size / self._plan.quorum.ensemble_size
            size = sum(map(len, payloads)) + len(payloads) * self._digest.payload_offset
            for bookie_id in self._ensemble:
                self._limiter.wait(bookie_id)
                self._limiter.moved(bookie_id, len(payloads) * share, size * share)
        writer.append_many(payloads)

    def _keep(self, writer: LedgerWriter) -> None:
        written = writer.close(self._store)
        if written is not None:
            self.written.append(written)

    # Sizes -----------------------------------------------------------------------------------------------------------

    def _chunk_end(self, payloads: Sequence[bytes], start: int, writer: LedgerWriter) -> int:
        """Return the end, in ``payloads``, of the entries to send next: a full chunk, or a full ledger."""
        plan = self._plan
        stop = min(start + self._chunk_entries, len(payloads))
        if plan.ledger_entries_max is not None:
            stop = min(stop, start + plan.ledger_entries_max - writer.next_entry_id)
        room = self._chunk_bytes
        if plan.ledger_bytes_max is not None:
            room = min(room, plan.ledger_bytes_max - writer.length)
        sizes = list(map(len, payloads[start:stop]))
        if sum(sizes) < min(room, self._payload_size_max):
            return stop
        for index, size in enumerate(sizes, start):
            if size > self._payload_size_max:
                raise InvalidArgument(
                    f"a payload of {size} bytes: at most {self._payload_size_max} fit into a frame of "
                    f"{self._config.frame_size_max} bytes (nettyMaxFrameSizeBytes of the bookies); split it"
                )
            room -= size
            if room <= 0:
                return index + 1
        return stop

    def _full(self, writer: LedgerWriter | None) -> bool:
        if writer is None:
            return False
        entries, size = self._plan.ledger_entries_max, self._plan.ledger_bytes_max
        return (entries is not None and writer.next_entry_id >= entries) or (size is not None and writer.length >= size)

    # Bookies ---------------------------------------------------------------------------------------------------------

    def _choose(self, size: int) -> list[AddChannel]:
        """Return connections to an ensemble by the placement rule.  Raises NotEnoughBookies with all reasons."""
        now = self._clock()
        avoided = {each for each, until in self._avoided_until.items() if until > now}
        reasons: dict[BookieId, str] = dict.fromkeys(avoided, "failed a moment ago")
        while True:
            try:
                ensemble = self._placement.choose(size, self._store.writable_bookies(), reasons, self._avoided_until)
            except NotEnoughBookies as error:
                why = "".join(f"; {bookie_id}: {reason}" for bookie_id, reason in sorted(reasons.items()))
                raise NotEnoughBookies(f"{error}{why}") from None
            for bookie_id in ensemble:
                channel = self._channels.get(bookie_id)
                if channel is not None and not channel.closed:
                    continue
                try:
                    self._channels[bookie_id] = self._connect(bookie_id)
                except (BookieUnavailable, TlsFailed) as error:
                    reasons[bookie_id] = str(error)
                    self._avoided_until[bookie_id] = now + AVOIDED_S
            if not reasons.keys() & set(ensemble):
                return [self._channels[bookie_id] for bookie_id in ensemble]

    def _connect_to(self, bookie_id: BookieId) -> AddChannel:
        info = self._store.bookie_info(bookie_id)
        return AddChannel(bookie_id, (info.host, info.port), self._config)

"""The bookie as its HTTP endpoints see it."""

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Any, Final

from attrs import define, field
from twisted.internet.defer import DeferredSemaphore

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.http.answer import JSON, OK, Answer, json_text
from bookkeeper_tx.bookie.http.client import ClientOnDemand
from bookkeeper_tx.bookie.http.garbage import GarbageCollection
from bookkeeper_tx.bookie.http.locations import EntryLocations, NoEntryLocations
from bookkeeper_tx.bookie.listening import Address
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.threads.worker import Threads

ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes that an answer with entries, or with ledger metadata, may have."""

LARGE_MAX: Final = 2
"""Requests with large answers that are carried out, or whose answers are sent, at once; others wait."""


class Phase(Enum):
    """Where a bookie is in its life."""

    STARTING = "starting"
    SERVING = "serving"
    """Clients find it, and it serves them."""
    STOPPING = "stopping"


@define(eq=False)
class Administered:
    """A bookie, and what its endpoints may ask of it."""

    config: BookieConfig
    address: Address
    disk: Disk
    journal_directories: Sequence[str]
    """The ``current`` ones, as are the others."""
    ledger_directories: Sequence[str]
    """Those of entry logs and marks."""
    index_directories: Sequence[str]
    """Those of the indexes, often the same."""
    store: MetadataStore
    availability: Availability
    threads: Threads
    """For what blocks; no client waits for it."""
    client: ClientOnDemand
    """A client of the cluster."""
    own_client: ClientOnDemand
    """One that makes ledgers on this bookie only."""
    metrics: Callable[[], str]
    """Gives the metrics in Prometheus' text format."""
    check_cookies: Callable[[], Awaitable[Any]]
    """Compares the cookies with the configuration, and writes those of new directories if that is allowed."""
    garbage: GarbageCollection | None = None
    """None where there is no garbage collection: then nothing is forced or suspended, as with a storage of Java's
    that has none."""
    locations: EntryLocations = field(factory=NoEntryLocations)
    phase: Phase = Phase.STARTING
    large: DeferredSemaphore = field(factory=lambda: DeferredSemaphore(LARGE_MAX))
    """Held from before a large answer is made until it was sent."""

    @property
    def bookie_id(self) -> str:
        return self.address.bookie_id

    @property
    def name(self) -> str:
        """The bookie in Java's words."""
        address = self.address
        return f"Bookie Server listening on {address.host}:{address.port} with id {address.bookie_id}"

    async def large_json(self, value: Any) -> Answer:
        """Answer ``value``, which may be large, in JSON."""
        return Answer(await self.threads.run(_json_bytes, value), OK, JSON)


def _json_bytes(value: Any) -> bytes:
    return json_text(value).encode("utf-8", "replace")

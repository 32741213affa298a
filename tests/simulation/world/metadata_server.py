"""The metadata store of the simulation: what all processes share, and what can be wrong with it."""

from collections.abc import Callable
from random import Random
from typing import Any

from attrs import define, field

from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Versioned


@define
class Registered:
    """A bookie, as long as the session of its process lives."""

    info: BookieServiceInfo
    read_only: bool
    session: Any
    """That of its process."""


@define
class MetadataServer:
    """What all processes share."""

    random: Random
    ledgers: dict[int, Versioned] = field(factory=dict)
    bookies: dict[BookieId, Registered] = field(factory=dict)
    cookies: dict[BookieId, tuple[bytes, int]] = field(factory=dict)
    records: dict[tuple[str, ...], tuple[bytes, int]] = field(factory=dict)
    """Named records, each with its version."""
    next_ledger_id: int = 0
    ledger_watchers: dict[int, list[Callable[[], None]]] = field(factory=dict)
    bookie_watchers: list[Callable[[], None]] = field(factory=list)
    session_s: float = 6.0
    """After so long without its process a session expires."""
    away_until: float = 0.0
    """Until when nobody is answered."""
    slow_s: float = 0.0
    """How much later answers come."""
    lost_answers: float = 0.0
    """How many answers are lost, of what was done."""
    on_write: Callable[[int, LedgerMetadata | None], None] = lambda ledger_id, metadata: None
    """Called with each change of a ledger; None for one that is deleted."""

    def written(self, ledger_id: int, metadata: LedgerMetadata | None) -> None:
        self.on_write(ledger_id, metadata)
        for changed in list(self.ledger_watchers.get(ledger_id, ())):
            changed()

    def registered(self) -> None:
        for changed in list(self.bookie_watchers):
            changed()

    def expire(self, session: object) -> None:
        """Forget what hangs on a session."""
        gone = [each for each, registered in self.bookies.items() if registered.session is session]
        for bookie_id in gone:
            del self.bookies[bookie_id]
        if gone:
            self.registered()

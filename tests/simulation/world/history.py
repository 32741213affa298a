"""What clients have done and were told, and what must be true of it whatever has happened."""

import logging
from collections.abc import Callable
from typing import Any

from attrs import define, field

from bookkeeper_tx.model import BookieId, DigestType, LedgerMetadata, LedgerState
from tests.bookie.crashing_disk import Crashed


class Violation(AssertionError):
    """An invariant is broken."""


class Stuck(Violation):
    """Something does not end, or does not work, though all is well."""


@define
class LedgerHistory:
    """What is known of one ledger."""

    ledger_id: int
    counts: dict[str, int]
    """What has happened in the whole history."""
    payloads: list[bytes] = field(factory=list)
    """What its writer has appended; the index is the entry id."""
    acknowledged: int = -1
    """The highest id that was acknowledged."""
    confirmed: int = -1
    """The highest last add confirmed that anybody was told."""
    delete_asked: bool = False
    metadata: LedgerMetadata | None = None
    changes: int = 0
    """How often its metadata have become others, and it was not closed then."""
    unprotected: bool = False
    """Whether its entries have no digest; also once it is deleted, since somebody may still read it."""
    writer: int = 0
    """The number of the client that writes it."""
    happened: Callable[[str, "LedgerHistory"], None] = lambda moment, ledger: None
    """Called when something is done with it: ``aim.MOMENTS``."""

    @property
    def key(self) -> tuple[int, bytes]:
        """What opens it: its id and its password."""
        assert self.metadata is not None
        return self.ledger_id, self.metadata.password or b""

    @property
    def end(self) -> int | None:
        """The last entry, once the ledger is closed."""
        if self.metadata is None or self.metadata.state is not LedgerState.CLOSED:
            return None
        return self.metadata.last_entry_id

    def acknowledge(self, entry_id: int, index: int) -> None:
        """Take notice that the append with this index has got this id."""
        if entry_id != index:
            raise Violation(f"ledger {self.ledger_id}: append {index} was told the id {entry_id}")
        self.acknowledged = max(self.acknowledged, entry_id)
        self._check_end()
        self.happened("acknowledged", self)

    def confirm(self, last_add_confirmed: int) -> None:
        """Take notice that somebody was told this last add confirmed."""
        if last_add_confirmed >= len(self.payloads):
            raise Violation(f"ledger {self.ledger_id}: {last_add_confirmed} is confirmed, and was never appended")
        self.confirmed = max(self.confirmed, last_add_confirmed)
        self._check_end()

    def read(self, entry_id: int, payload: bytes, end: int) -> None:
        """Take notice that an entry was read by a reader that may read up to ``end``."""
        if not 0 <= entry_id <= end:
            raise Violation(f"ledger {self.ledger_id}: entry {entry_id} was read, past the end {end}")
        if self.unprotected and self.counts.get("damage"):
            return
        if entry_id >= len(self.payloads) or payload != self.payloads[entry_id]:
            raise Violation(f"ledger {self.ledger_id}: entry {entry_id} was read with other bytes: {payload[:40]!r}")

    @property
    def told(self) -> int:
        """The highest entry id that anybody was told of; -1 if none."""
        return max(self.acknowledged, self.confirmed)

    def written(self, metadata: LedgerMetadata | None, told: int | None = None) -> None:
        """Take notice that the metadata has changed; None if the ledger was deleted.

        ``told`` is what had been :attr:`told` when it changed, or before; given if that is not just now.
        """
        before, self.metadata = self.metadata, metadata
        if metadata is None:
            if not self.delete_asked:
                raise Violation(f"ledger {self.ledger_id} was deleted, and nobody has asked for that")
            return
        self.unprotected = metadata.digest_type is DigestType.DUMMY
        if before is None:
            return
        self.changes += metadata.state is not LedgerState.CLOSED
        if before.state is LedgerState.CLOSED:
            same = (before.state, before.last_entry_id, before.length, before.fragments)
            if same != (metadata.state, metadata.last_entry_id, metadata.length, metadata.fragments):
                raise Violation(f"ledger {self.ledger_id} was closed twice: {before} became {metadata}")
        elif before.state is LedgerState.IN_RECOVERY and metadata.state is LedgerState.OPEN:
            raise Violation(f"ledger {self.ledger_id} was in recovery and is open again")
        starts = [fragment.first_entry_id for fragment in metadata.fragments]
        if starts != sorted(set(starts)) or starts[0] != 0:
            raise Violation(f"ledger {self.ledger_id} has fragments that start at {starts}")
        begins, confirmed = starts[-1], self.told if told is None else told
        is_new = metadata.fragments != before.fragments
        if metadata.state is LedgerState.OPEN and is_new and begins <= confirmed:
            raise Violation(f"ledger {self.ledger_id} has new bookies from {begins} on, and {confirmed} was confirmed")
        if metadata.state is LedgerState.CLOSED:
            self._check_length(metadata)
        self._check_end()
        if metadata.state is not before.state:
            self.happened("closed" if metadata.state is LedgerState.CLOSED else "recovery", self)
        elif metadata.fragments != before.fragments:
            self.happened("new fragment", self)

    def _check_end(self) -> None:
        end = self.end
        if end is not None and end < self.told:
            told = f"{self.acknowledged} was acknowledged and {self.confirmed} confirmed"
            raise Violation(f"ledger {self.ledger_id} ends at {end}, but {told}")

    def _check_length(self, metadata: LedgerMetadata) -> None:
        length = sum(map(len, self.payloads[: metadata.last_entry_id + 1]))
        if metadata.last_entry_id >= len(self.payloads):
            raise Violation(f"ledger {self.ledger_id} ends at {metadata.last_entry_id}, which was never appended")
        if metadata.length != length:
            raise Violation(f"ledger {self.ledger_id} has the length {metadata.length}, and should have {length}")


@define
class History:
    """All ledgers, and the operations under way."""

    ledgers: dict[int, LedgerHistory] = field(factory=dict)
    violation: BaseException | None = None
    under_way: dict[str, float] = field(factory=dict)
    """What clients wait for, and since when."""
    counts: dict[str, int] = field(factory=dict)
    damaged: BookieId | None = None
    """The bookie whose disk is damaged or lost."""
    lost_power: set[BookieId] = field(factory=set)
    """Bookies that have lost what they had not synced, at least once."""
    must_notice: bool = False
    """Whether that bookie must not serve before it has back what it lacks."""
    troubled: bool = False
    """Whether something has happened for which an operation may fail."""
    happened: Callable[[str, LedgerHistory], None] = lambda moment, ledger: None
    """Called when something is done with a ledger: ``aim.MOMENTS``."""

    def count(self, what: str, by: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + by

    def of(self, ledger_id: int) -> LedgerHistory:
        if ledger_id not in self.ledgers:
            self.ledgers[ledger_id] = LedgerHistory(ledger_id, self.counts, happened=self.happened)
        return self.ledgers[ledger_id]

    def written(self, ledger_id: int, metadata: LedgerMetadata | None, told: int | None = None) -> None:
        """Hear of a change from the metadata store."""
        try:
            self.of(ledger_id).written(metadata, told)
        except Violation as violation:
            self.broken(violation)

    def broken(self, error: BaseException) -> None:
        """Keep the first violation."""
        self.violation = self.violation or error

    def surprised(self, event: dict[str, Any]) -> None:
        """Look at what was logged: a failure that nobody expected is a violation, but for that of the power."""
        failure = event.get("log_failure")
        if failure is not None and not failure.check(Crashed):
            self.broken(failure.value)


class Records(logging.Handler):
    """What programs on asyncio log: a failure that nobody expected is a violation."""

    LOGGERS = logging.getLogger("bookkeeper_tx"), logging.getLogger("asyncio")

    def __init__(self, history: History) -> None:
        super().__init__(logging.ERROR)
        self._history = history

    def begin(self) -> None:
        for logger in self.LOGGERS:
            logger.addHandler(self)

    def end(self) -> None:
        for logger in self.LOGGERS:
            logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._history.broken(error or Violation(record.getMessage()))

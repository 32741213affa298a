"""What the operations of a bookie lean on, in memory and moved by hand: storage, journal, a client's connection."""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.journal.records import explicit_lac_record, fence_record, key_record
from bookkeeper_tx.bookie.operations.brake import Brake
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.operations.stored_runs import StoredRuns
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import LedgerFenced, NoSuchEntry, StorageFailed, Unauthorized
from bookkeeper_tx.protocol.bookie.requests import Continuation, Replied
from protocol_specs.entry.version import explicit_lac_of
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.ledger_id import SCOPED_MIN, join
from protocol_specs.wire.status import Status

KEY = b"k" * 20
OTHER_KEY = b"o" * 20
LEDGER = 7
SCOPED = join(2**63 - 1, -3)
"""A ledger outside scope 0."""
EIO = StorageFailed("the disk is full")


def entry(entry_id: int, size: int = 41, ledger_id: int = LEDGER, last_add_confirmed: int | None = None) -> bytes:
    """Make an entry of ``size`` bytes; digest and payload are nothing a bookie looks at."""
    lac = entry_id - 1 if last_add_confirmed is None else last_add_confirmed
    owner = b"\xa3" + ledger_id.to_bytes(16, "big") if ledger_id >= SCOPED_MIN else ledger_id.to_bytes(8, "big")
    head = owner + b"".join(each.to_bytes(8, "big", signed=True) for each in (entry_id, lac))
    return head + bytes(size - len(head))


def run_of(first: int, *sizes: int, ledger_id: int = LEDGER) -> EntryRun:
    """Make a run of entries of these sizes."""
    return EntryRun.of_entries(ledger_id, first, [entry(first + i, size, ledger_id) for i, size in enumerate(sizes)])


@define
class StoredLedger:
    """A ledger in memory."""

    ledger_id: int
    master_key: bytes
    fenced: bool = False
    limbo: bool = False
    explicit_lac: bytes | None = None
    last_add_confirmed: int = NO_ENTRY
    last_entry_id: int = NO_ENTRY
    last_indexed_id: int = NO_ENTRY


class MemoryLoader:
    """Loads the ledgers in ``cold`` when the test says so."""

    def __init__(self, ledgers: dict[int, StoredLedger]) -> None:
        self.ledgers = ledgers
        self.cold: set[int] = set()
        self.loads: list[tuple[Deferred[None], int]] = []

    def knows(self, ledger_id: int) -> bool:
        return ledger_id not in self.cold

    def in_memory(self, ledger_id: int) -> StoredLedger | None:
        return None if ledger_id in self.cold else self.ledgers.get(ledger_id)

    def load(self, ledger_id: int) -> Deferred[None]:
        loading: Deferred[None] = Deferred()
        if ledger_id not in self.cold:
            return succeed(None)
        self.loads.append((loading, ledger_id))
        return loading

    def is_ready_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> bool:
        return ledger_id not in self.cold

    def load_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> Deferred[None]:
        return self.load(ledger_id)

    def is_loaded(self, ledger_id: int) -> bool:
        return self.knows(ledger_id)

    def is_loaded_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> bool:
        return self.knows(ledger_id)

    def load_next(self) -> int:
        """Let the oldest load finish; returns of which ledger."""
        loading, ledger_id = self.loads.pop(0)
        self.cold.discard(ledger_id)
        loading.callback(None)
        return ledger_id


class MemoryStorage:
    """Ledger storage in memory; runs in ``cold`` have to be loaded, and ``broken`` makes every read fail."""

    def __init__(self) -> None:
        self.ledgers: dict[int, StoredLedger] = {}
        self.deleted: set[int] = set()
        """Ledgers that were fenced before they were deleted."""
        self.runs: list[EntryRun] = []
        self.cold: list[EntryRun] = []
        self.loads: list[tuple[Deferred[Any], int]] = []
        self.full = False
        self.write_cache_bytes = 11, 1000
        self.broken = False
        self.loader = MemoryLoader(self.ledgers)

    def ledger(self, ledger_id: int) -> StoredLedger | None:
        return self.ledgers.get(ledger_id)

    def open_for(self, ledger_id: int, master_key: bytes, ordinary: bool = False) -> tuple[StoredLedger, bool]:
        ledger = self.ledgers.get(ledger_id)
        if ledger is None and ordinary and ledger_id in self.deleted:
            raise LedgerFenced
        if ledger is None:
            ledger = self.ledgers[ledger_id] = StoredLedger(ledger_id, master_key)
            return ledger, True
        if ledger.master_key != master_key:
            raise Unauthorized
        return ledger, False

    def fence(self, ledger: StoredLedger) -> bool:
        was_fenced, ledger.fenced = ledger.fenced, True
        return not was_fenced

    def set_explicit_lac(self, ledger: StoredLedger, body: bytes) -> None:
        ledger.explicit_lac = body
        ledger.last_add_confirmed = max(ledger.last_add_confirmed, int.from_bytes(body[8:16], "big", signed=True))

    def unflushed_ranges(self, ledger_id: int) -> list[range]:
        return self._ranges(self.runs, ledger_id)

    def indexed_ranges(self, ledger_id: int, first_page: int, page_count: int) -> list[range]:
        if self.broken:
            raise StorageFailed("bad bytes")
        pages = range(first_page * 1024, (first_page + page_count) * 1024)
        found = self._ranges(self.cold, ledger_id)
        return [
            range(max(each.start, pages.start), min(each.stop, pages.stop))
            for each in found
            if each.stop > pages.start and each.start < pages.stop
        ]

    def next_indexed_page(self, ledger_id: int, page: int) -> int | None:
        if self.broken:
            raise StorageFailed("bad bytes")
        pages = [range(each.start // 1024, each[-1] // 1024 + 1) for each in self._ranges(self.cold, ledger_id)]
        return min((number for each in pages for number in each if number >= page), default=None)

    @staticmethod
    def _ranges(runs: list[EntryRun], ledger_id: int) -> list[range]:
        found = [range(run.first_entry_id, run.last_entry_id + 1) for run in runs if run.ledger_id == ledger_id]
        return sorted(found, key=lambda each: each.start)

    def add(self, ledger: StoredLedger, run: EntryRun) -> list[bytes | memoryview]:
        self.runs.append(run)
        ledger.last_entry_id = max(ledger.last_entry_id, run.last_entry_id)
        ledger.last_add_confirmed = max(ledger.last_add_confirmed, run.last_entry_id - 1)
        return [run.records(run.first_entry_id, run.count)]

    def store(self, *runs: EntryRun, cold: bool = False) -> None:
        """Have ``runs``, in memory or on disk."""
        for run in runs:
            self.add(self.ledgers.setdefault(run.ledger_id, StoredLedger(run.ledger_id, KEY)), run)
            if cold:
                self.cold.append(self.runs.pop())

    def cached_run(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        return self._find(self.runs, ledger_id, entry_id)

    def load_run(self, ledger_id: int, entry_id: int) -> Deferred[EntryRun]:
        if self.broken:
            return fail(StorageFailed("bad bytes"))
        run = self._find(self.cold, ledger_id, entry_id)
        if run is None:
            return fail(NoSuchEntry())
        loading: Deferred[EntryRun] = Deferred()
        self.loads.append((loading, entry_id))
        return loading

    def load_next(self) -> int:
        """Let the oldest load finish; returns which entry it was for."""
        loading, entry_id = self.loads.pop(0)
        run = self._find(self.cold, LEDGER, entry_id)
        assert run is not None
        loading.callback(run)
        return entry_id

    @staticmethod
    def _find(runs: list[EntryRun], ledger_id: int, entry_id: int) -> EntryRun | None:
        return next((run for run in runs if run.ledger_id == ledger_id and entry_id in run), None)


class MemoryJournal:
    """A journal whose groups are synced, or fail, by hand."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.waiting: list[tuple[list[bytes], Callable[[BaseException | None], None]]] = []
        self.waiter_bytes: list[int] = []
        self.on_group_done: Callable[[], None] = lambda: None

    @property
    def queued_bytes(self) -> int:
        return sum(len(record) for records, _ in self.waiting for record in records) + sum(self.waiter_bytes)

    @property
    def queued_count(self) -> int:
        return len(self.waiting)

    def append(
        self,
        records: Sequence[bytes | memoryview],
        done: Callable[[BaseException | None], None],
        waiter_bytes: int = 0,
    ) -> None:
        self.waiting.append(([bytes(record) for record in records], done))
        self.waiter_bytes.append(waiter_bytes)

    def sync(self, count: int | None = None, error: BaseException | None = None) -> None:
        """Finish the oldest ``count`` appends, all by default, as one group, with ``error``."""
        for _ in range(len(self.waiting) if count is None else count):
            records, done = self.waiting.pop(0)
            self.waiter_bytes.pop(0)
            if error is None:
                self.records += records
            done(error)
        self.on_group_done()


@define(eq=False)
class Client:
    """A client's connection: keeps the replies, and what the operations say of them."""

    replies: list[Any] = field(factory=list)
    statuses: list[Status] = field(factory=list)
    observers: list[tuple[Any, Replied]] = field(factory=list)
    pauses: int = 0
    reading_stops: int = 0
    rests: list[Any] = field(factory=list)
    """Requests to be served on when the client has taken its replies."""
    connected_to_client: bool = True
    when_lost: list[Callable[[], None]] = field(factory=list)

    def serve_next(self, request: Any) -> None:
        if isinstance(request, Continuation):
            request.go_on()
        else:
            self.rests.append(request)

    def end_next(self, end: Callable[[], None]) -> None:
        end()

    def call_when_lost(self, function: Callable[[], None]) -> None:
        self.when_lost.append(function)

    def lose(self) -> None:
        """Have the client go."""
        self.connected_to_client = False
        for function in self.when_lost:
            function()

    def observe(self, request: Any, replied: Replied) -> None:
        self.observers.append((request, replied))

    def reply(self, request: Any, status: Status, reply: Sequence[Any]) -> None:
        self.replies.extend(reply)
        self.statuses.append(status)
        for observed, replied in self.observers:
            if observed is request:
                replied(request, status, sum(map(len, reply)))

    def pause(self) -> None:
        self.pauses += 1

    def resume(self) -> None:
        self.pauses -= 1

    def stop_reading(self) -> None:
        self.reading_stops += 1

    def read_on(self) -> None:
        self.reading_stops -= 1

    def take(self) -> list[Any]:
        """Return the replies since the last call."""
        replies, self.replies = self.replies, []
        return replies


class SlowClient(Client):
    """A client that takes no replies: keeps the requests to be served next."""

    def __init__(self) -> None:
        super().__init__()
        self.next: list[Any] = []

    def serve_next(self, request: Any) -> None:
        self.next.append(request.go_on)

    def end_next(self, end: Callable[[], None]) -> None:
        self.next.append(end)

    def take_replies(self) -> None:
        """Serve the requests that were to be served next."""
        while self.next:
            self.next.pop(0)()


@define
class Add:
    entries: EntryRun
    master_key: bytes = KEY
    recovery: bool = False
    high_priority: bool = False
    deferred_sync: bool = False

    @property
    def content_bytes(self) -> int:
        return len(self.entries.buffer)

    def replies(self, status: Status) -> Status:
        return status


@define
class Read:
    entry_ids: Sequence[int]
    ledger_id: int = LEDGER
    fencing: bool = False
    master_key: bytes | None = None
    high_priority: bool = False

    def replies(self, answers: Sequence[bytes | Status], last_add_confirmed: int) -> list[Any]:
        assert len(answers) <= len(self.entry_ids)
        return [*answers, last_add_confirmed]

    def rest(self, answered: int) -> "Read":
        return Read(self.entry_ids[answered:], self.ledger_id)


@define
class BatchRead:
    start_entry_id: int
    max_count: int = 0
    max_size: int = 10**9
    ledger_id: int = LEDGER
    fencing: bool = False
    master_key: bytes | None = None
    previous_last_add_confirmed: int | None = None
    timeout_ms: int = 0
    updated_at_ms: int | None = None
    """What came with the reply."""

    def reply(self, slices: Sequence[Any], last_add_confirmed: int, updated_at_ms: int | None = None) -> list[bytes]:
        self.updated_at_ms = updated_at_ms
        return [b"".join(slices)]

    def error(self, status: Status) -> Status:
        return status


@define
class LongPoll:
    previous_last_add_confirmed: int
    timeout_ms: int = 0
    piggyback: bool = True
    entry_id: int = LAST_ENTRY
    ledger_id: int = LEDGER

    def reply(
        self, entry_id: int, answer: bytes | Status, last_add_confirmed: int, updated_at_ms: int | None
    ) -> tuple[Any, ...]:
        return entry_id, answer, last_add_confirmed, updated_at_ms


@define
class Force:
    ledger_id: int = LEDGER

    def reply(self, status: Status) -> Status:
        return status


@define
class ListEntries:
    ledger_id: int = LEDGER

    def reply(self, status: Status, availability: bytes | None) -> tuple[Any, ...]:
        return status, availability


@define
class WriteLac:
    body: bytes
    master_key: bytes = KEY
    last_add_confirmed: int = 0

    @property
    def ledger_id(self) -> int:
        return explicit_lac_of(self.body)[0]

    def reply(self, status: Status) -> Status:
        return status


@define
class ReadLac:
    ledger_id: int = LEDGER

    def reply(self, status: Status, explicit_lac: bytes | None, last_entry: bytes | None) -> tuple[Any, ...]:
        return status, explicit_lac, last_entry


@define
class BookieInfo:
    requested: int = 3

    def reply(self, status: Status, total_bytes: int, free_bytes: int) -> tuple[Any, ...]:
        return status, total_bytes, free_bytes


def open_brake() -> Brake:
    """Make a brake that holds nothing back."""
    return Brake(lambda _: False, 1, 1)


def runs_of(storage: Any, client_bytes_max: int = 10**9, bytes_max: int = 10**9) -> StoredRuns:
    """Make the finder of entries in ``storage``."""
    return StoredRuns(storage, client_bytes_max, bytes_max)


def watch_of(
    clock: Clock | None = None, timeout_max_s: float = 60.0, per_connection_max: int = 10, total_max: int = 10**6
) -> LacWatch:
    """Make the watch of a bookie whose time is moved by hand."""
    clock = clock or Clock()
    return LacWatch(clock, timeout_max_s, per_connection_max, total_max, clock.seconds)


KEY_RECORD = key_record(LEDGER, KEY)
FENCE_RECORD = fence_record(LEDGER)


def lac_record(body: bytes) -> bytes:
    return explicit_lac_record(LEDGER, body)


def loaded(run: EntryRun) -> Deferred[EntryRun]:
    return succeed(run)

"""Bookies with entries, and channels to them, for tests of reading, without waits and without sockets."""

from collections.abc import Callable, Iterable
from itertools import count

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, CannotConnect, NoSuchEntry, NoSuchLedger
from bookkeeper_tx.model import DigestType, Fragment
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.bookies.rate_limit import RateLimit
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from protocol_specs import fields

LEDGER = 7
PASSWORD = b"secret"
DIGEST = EntryDigest(DigestType.CRC32C, PASSWORD)


def payload_of(entry_id: int, size: int = 20) -> bytes:
    return (b"payload of %d " % entry_id * size)[:size]


def sealed(entry_id: int, size: int = 20, ledger_id: int = LEDGER, digest: EntryDigest = DIGEST) -> bytes:
    """Return the entry as it is stored."""
    return digest.seal(ledger_id, entry_id, entry_id - 1, (entry_id + 1) * size, payload_of(entry_id, size))


def corrupted(entry: bytes) -> bytes:
    """Return ``entry`` with its last bit turned over."""
    return entry[:-1] + bytes([entry[-1] ^ 1])


class Bookie:
    """One bookie: its entries, and its faults."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: dict[int, bytes] = {}
        self.errors: dict[int, BookKeeperError] = {}
        """The errors that it answers instead of entries."""
        self.knows_ledger = True
        self.batch_refusal: BookKeeperError | None = None
        """The error that it answers to a batch read; BookieUnavailable and the like close the channel."""
        self.reply_count_max = 10**9
        self.surplus = 0
        """Entries that it sends beyond those asked for."""
        self.alter: Callable[[EntryRun], EntryRun] = lambda run: run
        self.down = False
        self.lose: set[int] = set()
        """Numbers of the requests, from 1 on, after which it closes the connection, once each."""
        self.connections = 0
        self.requests: list[tuple[str, int, int]] = []
        """Kind, first entry and last entry of each request."""
        self.outstanding = self.outstanding_max = 0
        self.flushes = 0
        self.prompt = True
        """Whether replies come before the reader waits for them."""

    def connect(self) -> "Channel":
        if self.down:
            raise CannotConnect(f"{self.name} is down")
        self.connections += 1
        return Channel(self)

    def read(self, entry_id: int) -> bytes:
        if not self.knows_ledger:
            raise NoSuchLedger
        if entry_id == fields.LAST_ENTRY and self.entries:
            entry_id = max(self.entries)
        if entry_id in self.errors:
            raise self.errors[entry_id]
        if entry_id not in self.entries:
            raise NoSuchEntry
        return self.entries[entry_id]

    def read_run(self, ledger_id: int, first: int, last: int) -> EntryRun:
        """Return the entries before the first error; raises that error if it is the very first entry's."""
        entries = [self.read(first)]
        for entry_id in range(first + 1, min(last, first + self.reply_count_max - 1) + self.surplus + 1):
            try:
                entries.append(self.read(entry_id))
            except BookKeeperError:
                break
        run = EntryRun.of_entries(ledger_id, first, entries)
        if len(set(map(len, entries))) == 1:
            run.offsets = range(0, len(run.buffer) + 1, 4 + len(entries[0]))
        return self.alter(run)


class Channel:
    """Takes the place of a BlockingChannel."""

    def __init__(self, bookie: Bookie) -> None:
        self._bookie = bookie
        self._tokens = count(1)
        self._waiting: dict[int, Callable[[], object]] = {}
        self.closed = False

    def start_read(self, ledger_id: int, entry_id: int) -> int:
        return self._start("single", entry_id, entry_id, lambda: self._bookie.read(entry_id))

    def start_range_read(self, ledger_id: int, first: int, last: int) -> int:
        return self._start("range", first, last, lambda: self._bookie.read_run(ledger_id, first, last))

    def start_batch_read(self, ledger_id: int, first: int, max_count: int, max_size: int) -> int:
        last = first + max_count - 1
        if self._bookie.batch_refusal is not None:
            return self._start("batch", first, last, self._refuse)
        return self._start("batch", first, last, lambda: self._bookie.read_run(ledger_id, first, last))

    def flush(self) -> None:
        self._check_open()
        self._bookie.flushes += 1

    def done(self, token: int) -> bool:
        return self._bookie.prompt and token in self._waiting and not self.closed

    def result(self, token: int, timeout_s: float | None = None) -> object:
        self._check_open()
        answer = self._waiting.pop(token)
        self._bookie.outstanding -= 1
        return answer()

    def forget(self, tokens: Iterable[int]) -> None:
        for token in tokens:
            if self._waiting.pop(token, None) is not None:
                self._bookie.outstanding -= 1

    def read_entry(self, ledger_id: int, entry_id: int) -> object:
        return self.result(self.start_read(ledger_id, entry_id))

    def close(self) -> None:
        self._bookie.outstanding -= len(self._waiting)
        self._waiting.clear()
        self.closed = True

    def _start(self, kind: str, first: int, last: int, answer: Callable[[], object]) -> int:
        bookie = self._bookie
        bookie.requests.append((kind, first, last))
        number = len(bookie.requests)
        if number in bookie.lose:
            answer = self._lose
        token = next(self._tokens)
        self._waiting[token] = answer
        bookie.outstanding += 1
        bookie.outstanding_max = max(bookie.outstanding_max, bookie.outstanding)
        return token

    def _refuse(self) -> object:
        assert self._bookie.batch_refusal is not None
        if isinstance(self._bookie.batch_refusal, BookieUnavailable):
            self.close()
        raise self._bookie.batch_refusal

    def _lose(self) -> object:
        self.close()
        raise BookieUnavailable(f"{self._bookie.name} closed the connection")

    def _check_open(self) -> None:
        if self.closed or self._bookie.down:
            raise BookieUnavailable(f"the channel to {self._bookie.name} was closed")


class Site:
    """``count`` bookies, and a clock that only sleeping moves."""

    def __init__(self, bookie_count: int = 1, **config: object) -> None:
        self.bookies = [Bookie(f"b{index}") for index in range(bookie_count)]
        self.names = [bookie.name for bookie in self.bookies]
        self.now = 1000.0
        self.slept: list[float] = []
        self.config = ClientConfig(**config)  # type: ignore[arg-type]

    def sleep(self, duration_s: float) -> None:
        self.slept.append(duration_s)
        self.now += duration_s

    def channels(self, limits: RateLimit | None = None, batch_read_v3: Iterable[str] = ()) -> BookieChannels:
        by_name = {bookie.name: bookie for bookie in self.bookies}
        return BookieChannels(
            {name: (name, 3181) for name in self.names},
            self.config,
            limits,
            batch_read_v3=list(batch_read_v3),
            clock=lambda: self.now,
            sleep=self.sleep,
            connect=lambda host, port, config: by_name[host].connect(),  # type: ignore[arg-type,return-value]
        )

    def store(self, entries: Iterable[bytes], write_quorum_size: int | None = None, first: int = 0) -> None:
        """Give each entry, from id ``first`` on, to the bookies of its write set."""
        size = len(self.bookies)
        for entry_id, entry in enumerate(entries, first):
            for step in range(write_quorum_size or size):
                self.bookies[(entry_id + step) % size].entries[entry_id] = entry

    def ledger(
        self, first: int, last: int, write_quorum_size: int | None = None, ledger_id: int = LEDGER
    ) -> LedgerRange:
        size = len(self.bookies)
        write = write_quorum_size or size
        fragments = (Fragment(0, self.names),)
        return LedgerRange(ledger_id, first, last, fragments, size, write, write, DigestType.CRC32C)

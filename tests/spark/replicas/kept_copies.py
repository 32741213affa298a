"""Bookies without sockets for reads: each keeps entries of one ledger, or answers an error instead."""

from itertools import count
from typing import Any

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BadRequest, BookieUnavailable, BookKeeperError, CannotConnect, NoSuchEntry
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from protocol_specs.fields import LAST_ENTRY

LEDGER = 5
DIGEST = EntryDigest(DigestType.CRC32C, b"")
NO_LIMIT = 10**9


def sealed(entry_id: int, payload: bytes | None = None, lac: int = -1, ledger_id: int = LEDGER) -> bytes:
    """Return an entry."""
    payload = b"entry %d" % entry_id if payload is None else payload
    return DIGEST.seal(ledger_id, entry_id, lac, len(payload), payload)


class KeptCopies:
    """A bookie."""

    def __init__(self, entry_ids: range) -> None:
        self.entries: dict[int, bytes | BookKeeperError] = {each: sealed(each) for each in entry_ids}
        self.other: BookKeeperError = NoSuchEntry()
        """Its answer for entries that are not in ``entries``."""
        self.batch = True
        self.batch_count_max = 10
        self.answers_left = NO_LIMIT
        """How many requests are answered before the connection is lost."""
        self.reachable = True
        self.dead_for_good = False
        self.asked: list[tuple[str, int, int]] = []
        """Kind of request, first and last entry id."""

    def last_entry(self) -> bytes:
        """Return the entry with the highest id, or raise the bookie's answer if there is none."""
        entry = self.entries[max(self.entries)] if self.entries else self.other
        if isinstance(entry, BookKeeperError):
            raise entry
        return entry

    def answer(self, first: int, last: int) -> EntryRun:
        """Return the present entries from ``first`` on, or raise the answer for ``first``."""
        found: list[bytes] = []
        for entry_id in range(first, last + 1):
            entry = self.entries.get(entry_id, self.other)
            if isinstance(entry, BookKeeperError):
                if not found:
                    raise entry
                break
            found.append(entry)
        return EntryRun.of_entries(LEDGER, first, found)


class KeptChannel:
    """A connection to a bookie."""

    def __init__(self, bookie: KeptCopies) -> None:
        self.bookie = bookie
        self.closed = False
        self._tokens = count(1)
        self._waiting: dict[int, tuple[str, int, int]] = {}

    def start_read(self, ledger_id: int, entry_id: int, *_: Any) -> int:
        return self._ask("single", entry_id, entry_id)

    def start_range_read(self, ledger_id: int, first: int, last: int) -> int:
        return self._ask("range", first, last)

    def start_batch_read(self, ledger_id: int, first: int, max_count: int, max_size: int, *_: Any) -> int:
        return self._ask("batch", first, first + min(max_count, self.bookie.batch_count_max) - 1)

    def read_entry(self, ledger_id: int, entry_id: int) -> bytes:
        return bytes(self.result(self.start_read(ledger_id, entry_id)))

    def done(self, token: int) -> bool:
        return False

    def flush(self) -> None:
        pass

    def forget(self, tokens: list[int]) -> None:
        for token in tokens:
            self._waiting.pop(token)

    def result(self, token: int, timeout_s: float | None = None) -> Any:
        kind, first, last = self._waiting.pop(token)
        bookie = self.bookie
        if bookie.answers_left <= 0:
            bookie.answers_left = 0 if bookie.dead_for_good else NO_LIMIT
            self.closed = True
            raise BookieUnavailable("the connection is lost")
        bookie.answers_left -= 1
        if kind == "batch" and not bookie.batch:
            raise BadRequest
        if first == LAST_ENTRY:
            return bookie.last_entry()
        run = bookie.answer(first, last)
        return run.entry(first) if kind == "single" else run

    def close(self) -> None:
        self.closed = True

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def _ask(self, kind: str, first: int, last: int) -> int:
        self.bookie.asked.append((kind, first, last))
        token = next(self._tokens)
        self._waiting[token] = kind, first, last
        return token


class KeptCluster:
    """Bookies by name."""

    def __init__(self, **bookies: KeptCopies) -> None:
        self.bookies = bookies
        self.open: list[KeptChannel] = []
        self.slept: list[float] = []

    def channels(self, **options: Any) -> BookieChannels:
        addresses = {name: (name, 1) for name in self.bookies}
        return BookieChannels(
            addresses, ClientConfig(), connect=self._connect, sleep=self.slept.append, clock=lambda: 0.0, **options
        )

    def _connect(self, host: str, port: int, config: ClientConfig) -> Any:
        if not self.bookies[host].reachable:
            raise CannotConnect(f"cannot connect to {host}")
        channel = KeptChannel(self.bookies[host])
        self.open.append(channel)
        return channel

"""Bookies without sockets, for code that adds over several channels; the test sets how they behave."""

import selectors
from collections.abc import Callable
from typing import Any

from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, CannotConnect
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.protocol.client.v2_add_runs import AddReplies
from bookkeeper_tx.protocol.v2_frames import ADD_OVERHEAD, LENGTH
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

TICK_S = 1.0


class PuppetBookie:
    """Stores every entry and answers at once, unless one of its attributes says otherwise."""

    def __init__(self, bookie_id: BookieId) -> None:
        self.bookie_id = bookie_id
        self.entries: dict[int, dict[int, bytes]] = {}
        """Sealed entries by ledger and entry id."""
        self.reachable = True
        self.dies_at: int | None = None
        """Loses the connection instead of storing the entry with this id."""
        self.silent_from: int | None = None
        """Stores, but does not answer for, entries from this id on."""
        self.answers: dict[int, Status] = {}
        """The status that it answers for an entry instead of success."""
        self.ledger: int | None = None
        """The only ledger for which it behaves like this; None: all."""
        self.connections = 0

    def concerns(self, ledger_id: int) -> bool:
        return self.ledger is None or self.ledger == ledger_id


class PuppetChannel:
    """The side of a connection that :class:`ReplicatedAdds` sees."""

    def __init__(self, bookie: PuppetBookie) -> None:
        bookie.connections += 1
        self.bookie = bookie
        self.bookie_id = bookie.bookie_id
        self.closed = False
        self._unsent: list[bytes] = []
        self.replies: list[AddReplies] = []
        self.lost: BookKeeperError | None = None

    @property
    def unsent(self) -> bool:
        return bool(self._unsent)

    @property
    def readable(self) -> bool:
        return bool(self.replies or self.lost)

    def queue(self, frames: bytes) -> None:
        assert not self.closed
        self._unsent.append(frames)

    def send(self) -> None:
        data = b"".join(self._unsent)
        self._unsent.clear()
        position = 0
        while position < len(data) and self.lost is None:
            end = position + LENGTH + int.from_bytes(data[position : position + LENGTH], "big")
            self._store(data[position + LENGTH + ADD_OVERHEAD : end])
            position = end

    def _store(self, entry: bytes) -> None:
        ledger_id, entry_id = int.from_bytes(entry[:8], "big"), int.from_bytes(entry[8:16], "big")
        bookie = self.bookie
        told = bookie.concerns(ledger_id)
        if told and bookie.dies_at is not None and entry_id >= bookie.dies_at:
            self.lost = BookieUnavailable(f"bookie {self.bookie_id} is gone")
            bookie.reachable = False
            return
        bookie.entries.setdefault(ledger_id, {})[entry_id] = entry
        if told and bookie.silent_from is not None and entry_id >= bookie.silent_from:
            return
        status = bookie.answers.get(entry_id, statuses.EOK) if told else statuses.EOK
        self.replies.append(AddReplies(status.v2, ledger_id, range(entry_id, entry_id + 1)))

    def receive(self) -> list[AddReplies]:
        replies, self.replies = self.replies, []
        if replies:
            return replies
        assert self.lost is not None
        raise self.lost

    def close(self) -> None:
        self.closed = True
        self._unsent.clear()


class PuppetSelector(selectors.BaseSelector):
    """A channel with bytes to move is ready; if none is, the time of the wait passes."""

    def __init__(self, clock: "PuppetClock") -> None:
        self._clock = clock
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._keys[fileobj] = selectors.SelectorKey(fileobj, 0, events, data)
        return self._keys[fileobj]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = []
        for channel, key in self._keys.items():
            mask = (selectors.EVENT_WRITE if channel.unsent else 0) & key.events
            mask |= selectors.EVENT_READ if channel.readable else 0
            if mask:
                ready.append((key, mask))
        if not ready:
            assert timeout is not None
            self._clock.now_s += timeout
        return ready

    def get_map(self) -> Any:
        return self._keys


class PuppetClock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class PuppetCluster:
    """Bookies by name, and how to connect to them."""

    def __init__(self, *bookie_ids: BookieId) -> None:
        self.bookies = {bookie_id: PuppetBookie(bookie_id) for bookie_id in bookie_ids}
        self.clock = PuppetClock()

    def __getitem__(self, bookie_id: BookieId) -> PuppetBookie:
        return self.bookies[bookie_id]

    def connect(self, bookie_id: BookieId) -> Any:
        bookie = self.bookies[bookie_id]
        if not bookie.reachable:
            raise CannotConnect(f"cannot connect to bookie {bookie_id}")
        return PuppetChannel(bookie)

    @property
    def make_selector(self) -> Callable[[], PuppetSelector]:
        return lambda: PuppetSelector(self.clock)

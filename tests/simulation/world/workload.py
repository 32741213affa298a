"""What clients do: write, read, tail, recover and delete ledgers, and say what they were told."""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError

from bookkeeper_tx.client.core import Client
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    BookieUnavailable,
    BookKeeperError,
    ClientClosed,
    DigestMismatch,
    LedgerClosed,
    LedgerFenced,
    NoSuchEntry,
    NoSuchLedger,
    ProtocolViolation,
    RequestTimedOut,
    TooManyOutstandingAdds,
)
from bookkeeper_tx.model import DigestType
from tests.simulation.world import patience
from tests.simulation.world.client_node import ClientNode
from tests.simulation.world.history import History, LedgerHistory, Violation
from tests.simulation.world.memory import look_at_writer
from tests.simulation.world.temperament import QUORUMS
from tests.simulation.world.timeline import Timeline

DIGESTS = (DigestType.CRC32C, DigestType.CRC32, DigestType.MAC, DigestType.DUMMY)
SIZES = (0, 10, 100, 3000)

TOGETHER = 0.2
"""How often entries are appended in one call."""

LONG_PAUSE_S = 1.0
"""For so long a writer does nothing, at least, where that is a moment for faults: what was appended is flushed."""

ALWAYS = LedgerFenced | LedgerClosed | NoSuchLedger | TooManyOutstandingAdds
"""Errors that clients make each other, or themselves, though nothing goes wrong."""


class Workload:
    """The tasks of one client's process."""

    def __init__(
        self, node: ClientNode, history: History, timeline: Timeline, random: Random, number: int, end_s: float
    ) -> None:
        self.node = node
        self.history = history
        self.timeline = timeline
        self.random = random
        self.number = number
        self.quorums = QUORUMS
        self.end_s = end_s
        """When no new work is begun."""
        self._names = 0
        self.bounds = patience.bounds(node.config)
        """The longest time of each operation that has one, in seconds."""
        self._iterations: list[Any] = []

    def begin(self) -> None:
        """Start the process, and its tasks, unless it runs."""
        if self.node.is_up:
            return
        self.node.start()
        self.node.machine.post(self.timeline.now, self._begin)

    def _begin(self) -> None:
        self._spawn(self._start())
        tasks = [self.writes, self.writes, self.recovers, self.reads, self.tails]
        for task in self.random.sample(tasks, self.random.randrange(2, len(tasks) + 1)):
            self._spawn(task(Random(self.random.random())))
        if self.random.random() < 0.3:
            self._spawn(self.deletes(Random(self.random.random())))

    @property
    def client(self) -> Client[Any, Any, Any]:
        assert self.node.client is not None
        return self.node.client

    def kill(self) -> None:
        """End the process; nobody waits for what it has begun."""
        # Else these would try to end when they are collected.
        iterations, self._iterations = self._iterations, []
        for each in iterations:
            each.cancel()
        self.node.kill()
        address = self.node.machine.address
        under_way = self.history.under_way
        for name in [each for each in under_way if each.endswith(f" of {address}")]:
            del under_way[name]

    async def _start(self) -> None:
        with suppress(BookKeeperError):
            await self.client.start()

    # Tasks -----------------------------------------------------------------------------------------------------------

    async def writes(self, random: Random) -> None:
        while await self._sleep(random.random() * 2):
            options = {"digest_type": random.choice(DIGESTS), "password": random.choice((b"", b"secret"))}
            writer = await self._tried(
                "create", None, self.client.create_ledger, *random.choice(self.quorums), **options
            )
            if writer is not None:
                await self._write(writer, random)

    async def _write(self, writer: Any, random: Random) -> None:
        ledger = self.history.of(writer.ledger_id)
        ledger.writer = self.number
        for _ in range(random.choice((1, 2, 6))):
            first = len(ledger.payloads)
            for _ in range(random.choice((1, 4, 20))):
                payload = b"%d/%d " % (writer.ledger_id, len(ledger.payloads)) + bytes(random.choice(SIZES))
                ledger.payloads.append(payload)
            if random.random() < TOGETHER:
                appended = [self._watched("append many", self._append_many(ledger, writer, first))]
            else:
                new = enumerate(ledger.payloads[first:], first)
                appended = [self._watched("append", self._append(ledger, writer, *each)) for each in new]
            self.history.happened("append", ledger)
            told = [await each for each in appended]
            if not all(told):
                break
            if random.random() < 0.3:
                last = await self._tried("publish", ledger, writer.write_last_add_confirmed)
                if last is not None:
                    ledger.confirm(last)
            pause_s = random.choice((0, 0, 0, 0.05, 1.0, 3.0))
            if pause_s >= LONG_PAUSE_S:
                self.history.happened("pause", ledger)
            if not await self._sleep(pause_s):
                break
        if random.random() < 0.7:
            await self._tried("close", ledger, writer.close)

    async def _append(self, ledger: LedgerHistory, writer: Any, index: int, payload: bytes) -> bool:
        try:
            appending = writer.append(payload)
            self._look_at_memory(writer)
            entry_id = await appending
            self._look_at_memory(writer)
        except BookKeeperError as error:
            self._look_at(error, ledger)
            return False
        ledger.acknowledge(entry_id, index)
        self.history.count("appends")
        return True

    async def _append_many(self, ledger: LedgerHistory, writer: Any, first: int) -> bool:
        payloads = ledger.payloads[first:]
        try:
            # Entries of an iterator are read as there is room, those of a list at once.
            ids = await writer.append_many(iter(payloads) if first % 2 else payloads)
            self._look_at_memory(writer)
        except BookKeeperError as error:
            self._look_at(error, ledger)
            return False
        if len(ids) != len(payloads):
            raise Violation(f"ledger {ledger.ledger_id}: {len(payloads)} appends have got the ids {ids}")
        for index, entry_id in enumerate(ids, first):
            ledger.acknowledge(entry_id, index)
        self.history.count("appends together", len(payloads))
        return True

    async def recovers(self, random: Random) -> None:
        while await self._sleep(random.random() * 6):
            ledger = self._any_ledger(random)
            if ledger is not None:
                await self._recover(ledger, random)

    def take_over(self, ledger_id: int | None, seed: float) -> None:
        """Recover a ledger, or any that is open, if this client runs."""
        if self.node.client is not None and self.timeline.now < self.end_s:
            self._spawn(self._take_over(ledger_id, Random(seed)))

    async def _take_over(self, ledger_id: int | None, random: Random) -> None:
        found = [each for each in self.history.ledgers.values() if each.metadata is not None and each.end is None]
        ledger = self.history.ledgers[ledger_id] if ledger_id is not None else random.choice(found or [None])
        if ledger is not None and ledger.metadata is not None:
            await self._recover(ledger, random)

    async def _recover(self, ledger: LedgerHistory, random: Random) -> None:
        reader = await self._tried("open", ledger, self.client.open_ledger, *ledger.key)
        if reader is not None:
            self.history.count("recoveries")
            await self._read(ledger, reader, random)

    async def reads(self, random: Random) -> None:
        while await self._sleep(random.random() * 2):
            ledger, reader = await self._opened(random)
            if ledger is not None and reader is not None:
                last = await self._tried("read last add confirmed", ledger, reader.read_last_add_confirmed)
                if last is not None:
                    ledger.confirm(last)
                await self._read(ledger, reader, random)
                reader.close()

    async def _read(self, ledger: LedgerHistory, reader: Any, random: Random) -> None:
        end = reader.last_add_confirmed
        ledger.confirm(end)
        if end < 0:
            return
        first = random.randrange(end + 1)
        last = random.randrange(first, end + 1)
        entries = await self._tried("read", ledger, reader.read, first, last, batch=random.random() < 0.5)
        if entries is not None:
            if [entry.entry_id for entry in entries] != list(range(first, last + 1)):
                raise Violation(f"ledger {ledger.ledger_id}: a read of {first} to {last} gave other entries")
            for entry in entries:
                ledger.read(entry.entry_id, entry.payload, last)
            self.history.count("entries read", len(entries))

    async def tails(self, random: Random) -> None:
        while await self._sleep(random.random() * 3):
            ledger, reader = await self._opened(random)
            if ledger is not None and reader is not None:
                stop_s = min(self.timeline.now + random.random() * 10, self.end_s)
                # A Task that nobody runs any more cannot be ended, so not on asyncio.
                if self.node.on_asyncio or random.random() < 0.5:
                    await self._tail(ledger, reader, stop_s)
                else:
                    await self._iterate(ledger, reader, stop_s)
                reader.close()

    async def _tail(self, ledger: LedgerHistory, reader: Any, stop_s: float) -> None:
        expected = 0
        while self.timeline.now < stop_s and not (reader.closed and expected > reader.last_add_confirmed):
            told = await self._tried("wait", ledger, reader.wait_last_add_confirmed, timeout_s=patience.WAIT_S)
            if told is None:
                return
            ledger.confirm(told)
            while expected <= (last := reader.last_add_confirmed):
                ledger.confirm(last)
                entries = await self._tried("read batch", ledger, reader.read_batch, expected, 20)
                if entries is None:
                    return
                for entry in entries:
                    if entry.entry_id != expected:
                        raise Violation(f"ledger {ledger.ledger_id}: {entry.entry_id} came in the place of {expected}")
                    ledger.read(entry.entry_id, entry.payload, last)
                    expected += 1
                self.history.count("entries tailed", len(entries))

    async def _iterate(self, ledger: LedgerHistory, reader: Any, stop_s: float) -> None:
        """Tail until a time: whatever bookies do for less than a minute, that goes on."""
        work: Any = self._watched("tail", self._tailed(ledger, reader))
        self.node.machine.post(stop_s, work.cancel)
        self._iterations.append(work)
        await work

    async def _tailed(self, ledger: LedgerHistory, reader: Any) -> None:
        expected = 0
        try:
            async for entry in reader.tail(0):
                if entry.entry_id != expected:
                    raise Violation(f"ledger {ledger.ledger_id}: {entry.entry_id} came in the place of {expected}")
                ledger.read(entry.entry_id, entry.payload, reader.last_add_confirmed)
                expected += 1
                self.history.count("entries tailed")
        except CancelledError:
            return
        except BookKeeperError as error:
            self._look_at(error, ledger)
            if isinstance(error, BookieUnavailable | RequestTimedOut):
                raise Violation(f"a tail of ledger {ledger.ledger_id} has ended early: {error}") from error

    async def deletes(self, random: Random) -> None:
        while await self._sleep(2 + random.random() * 8):
            ledger = self._any_ledger(random)
            if ledger is not None and ledger.end is not None:
                ledger.delete_asked = True
                await self._tried("delete", ledger, self.client.delete_ledger, ledger.ledger_id)
                self.history.count("deletions")

    # Around them -----------------------------------------------------------------------------------------------------

    def _spawn(self, task: Coroutine[Any, Any, None]) -> None:
        def ended(error: Exception | None, _: None) -> None:
            if error is not None:
                self.history.broken(error)

        self.node.run(task, ended)

    async def _sleep(self, seconds: float) -> bool:
        """Wait; return whether to go on."""
        if self.node.machine.reactor is None:
            return False
        await self.node.sleep(seconds)
        return self.timeline.now < self.end_s and self.node.client is not None

    def _any_ledger(self, random: Random) -> LedgerHistory | None:
        ledgers = [each for each in self.history.ledgers.values() if each.metadata is not None]
        return random.choice(ledgers) if ledgers else None

    async def _opened(self, random: Random) -> tuple[LedgerHistory | None, Any]:
        """Open a ledger that is left to its writer."""
        ledger = self._any_ledger(random)
        if ledger is None:
            return None, None
        return ledger, await self._tried("open", ledger, self.client.open_ledger_no_recovery, *ledger.key)

    async def _tried(
        self,
        what: str,
        ledger: LedgerHistory | None,
        operation: Callable[..., Awaitable[Any]],
        *arguments: Any,
        **named: Any,
    ) -> Any:
        """Return the result of an operation, None if it has failed in a way that may be."""

        async def tried() -> Any:
            try:
                return await operation(*arguments, **named)
            except BookKeeperError as error:
                self.history.count(f"{what}: {type(error).__name__}")
                self._look_at(error, ledger)
                return None

        return await self._watched(what, tried())

    def _look_at_memory(self, writer: Any) -> None:
        adds = writer._adds
        look_at_writer(adds.outstanding, adds.outstanding_bytes, self.node.config)

    def _look_at(self, error: BookKeeperError, ledger: LedgerHistory | None = None) -> None:
        """Raise a violation for an error that must not be."""
        if isinstance(error, AuthenticationFailed | ClientClosed):
            raise Violation(f"the password is right, and nobody has closed the client: {error}")
        if isinstance(error, AuthenticationUnanswered) and not self.history.counts.get("faults"):
            raise Violation(f"nothing went wrong, and a login was not answered: {error}")
        if isinstance(error, NoSuchLedger) and ledger is not None and not ledger.delete_asked:
            raise Violation(f"nobody has asked to delete ledger {ledger.ledger_id}, and it is said to be none: {error}")
        if isinstance(error, NoSuchEntry) and (ledger is None or not ledger.delete_asked):
            raise Violation(f"an entry that is confirmed is said to be none: {error}")
        if not self.history.troubled and not isinstance(error, ALWAYS):
            raise Violation(f"nothing has gone wrong, and yet: {type(error).__name__} {error}")
        if isinstance(error, DigestMismatch | ProtocolViolation) and not self.history.counts.get("damage"):
            raise Violation(f"nothing was damaged: {error}")

    def _watched(self, what: str, work: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
        """Note that ``work`` is under way; it has to end within its time."""
        self._names += 1
        machine = self.node.machine
        name = f"{what} {self._names} of {machine.address}"
        began_s, paused_s = self.timeline.now, machine.paused_s
        self.history.under_way[name] = began_s

        async def watched() -> Any:
            result = await work
            took_s = self.timeline.now - began_s - (machine.paused_s - paused_s)
            if took_s > self.bounds.get(what, took_s):
                raise Violation(f"{name} took {took_s:.1f} s, and may take {self.bounds[what]:.1f} s")
            del self.history.under_way[name]
            return result

        return self.node.driver.spawn(watched())

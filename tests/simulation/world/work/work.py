"""What the work of one client's process has in common: it notes what it was told, and looks at it."""

from collections.abc import Awaitable, Callable, Coroutine
from random import Random
from typing import Any

from bookkeeper_tx.client.core import Client
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    BookKeeperError,
    ClientClosed,
    DigestMismatch,
    LedgerClosed,
    LedgerFenced,
    NoSuchEntry,
    NoSuchLedger,
    ProtocolViolation,
    TooManyOutstandingAdds,
)
from tests.simulation.world import patience
from tests.simulation.world.client_node import ClientNode
from tests.simulation.world.history import History, LedgerHistory, Violation
from tests.simulation.world.memory import look_at_writer
from tests.simulation.world.temperament import QUORUMS
from tests.simulation.world.timeline import Timeline

ALWAYS = LedgerFenced | LedgerClosed | NoSuchLedger | TooManyOutstandingAdds
"""Errors that clients make each other, or themselves, though nothing goes wrong."""


class Work:
    """What a client's process does; ``end_s`` is when it begins nothing new."""

    def __init__(self, node: ClientNode, history: History, timeline: Timeline, number: int, end_s: float) -> None:
        self.node = node
        self.history = history
        self.timeline = timeline
        self.number = number
        self.end_s = end_s
        self.quorums = QUORUMS
        self.bounds = patience.bounds(node.config)
        """The longest time of each operation that has one."""
        self.iterations: list[Any] = []
        """Which have to be ended with the process."""
        self._names = 0

    @property
    def client(self) -> Client[Any, Any, Any]:
        assert self.node.client is not None
        return self.node.client

    async def sleep(self, seconds: float) -> bool:
        """Wait; return whether to go on."""
        if self.node.machine.reactor is None:
            return False
        await self.node.sleep(seconds)
        return self.timeline.now < self.end_s and self.node.client is not None

    def any_ledger(self, random: Random) -> LedgerHistory | None:
        ledgers = [each for each in self.history.ledgers.values() if each.metadata is not None]
        return random.choice(ledgers) if ledgers else None

    async def opened(self, random: Random) -> tuple[LedgerHistory | None, Any]:
        """Open a ledger that is left to its writer."""
        ledger = self.any_ledger(random)
        if ledger is None:
            return None, None
        return ledger, await self.tried("open to read", ledger, self.client.open_ledger_no_recovery, *ledger.key)

    async def tried(
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
                self.look_at(error, ledger)
                return None

        return await self.watched(what, tried(), ledger)

    def look_at_memory(self, writer: Any) -> None:
        adds = writer._adds
        look_at_writer(adds.outstanding, adds.outstanding_bytes, self.node.config)

    def look_at(self, error: BookKeeperError, ledger: LedgerHistory | None = None) -> None:
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

    def watched(self, what: str, work: Coroutine[Any, Any, Any], ledger: LedgerHistory | None = None) -> Awaitable[Any]:
        """Note that ``work`` is under way, with a ledger or none; it has to end within its time."""
        self._names += 1
        machine = self.node.machine
        name = f"{what} {self._names} of {machine.address}"
        began_s, paused_s = self.timeline.now, machine.paused_s
        changes = 0 if ledger is None else ledger.changes
        self.history.under_way[name] = began_s

        async def watched() -> Any:
            result = await work
            took_s = self.timeline.now - began_s - (machine.paused_s - paused_s)
            if what in self.bounds:
                bound, changed = self.bounds[what], 0 if ledger is None else ledger.changes - changes
                may_s = bound.seconds + changed * bound.each_change_s
                if took_s > may_s:
                    raise Violation(f"{name} took {took_s:.1f} s, and may take {may_s:.1f} s")
            del self.history.under_way[name]
            return result

        return self.node.driver.spawn(watched())

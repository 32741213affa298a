"""Clients follow ledgers: they wait for what is confirmed next, or iterate over it."""

import asyncio
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError

from bookkeeper_tx.errors import NO_ANSWER, BookKeeperError
from tests.simulation.world import patience
from tests.simulation.world.history import LedgerHistory, Violation
from tests.simulation.world.work.work import Work


async def tails(work: Work, random: Random) -> None:
    while await work.sleep(random.random() * 3):
        ledger, reader = await work.opened(random)
        if ledger is not None and reader is not None:
            stop_s = min(work.timeline.now + random.random() * 10, work.end_s)
            tail = _wait if random.random() < 0.5 else _iterate
            await tail(work, ledger, reader, stop_s)
            reader.close()


async def _wait(work: Work, ledger: LedgerHistory, reader: Any, stop_s: float) -> None:
    """Wait for each entry, a while at a time, and read what has come."""
    expected = 0
    while work.timeline.now < stop_s and not (reader.closed and expected > reader.last_add_confirmed):
        told = await work.tried("wait", ledger, reader.wait_last_add_confirmed, timeout_s=patience.WAIT_S)
        if told is None:
            return
        ledger.confirm(told)
        while expected <= (last := reader.last_add_confirmed):
            ledger.confirm(last)
            entries = await work.tried("read batch", ledger, reader.read_batch, expected, 20)
            if entries is None:
                return
            for entry in entries:
                if entry.entry_id != expected:
                    raise Violation(f"ledger {ledger.ledger_id}: {entry.entry_id} came in the place of {expected}")
                ledger.read(entry.entry_id, entry.payload, last)
                expected += 1
            work.history.count("entries tailed", len(entries))


async def _iterate(work: Work, ledger: LedgerHistory, reader: Any, stop_s: float) -> None:
    """Tail until a time: whatever bookies do for less than a minute, that goes on."""
    tail: Any = work.watched("tail", _tailed(work, ledger, reader))
    work.node.machine.post(stop_s, tail.cancel)
    work.iterations.append(tail)
    await tail


async def _tailed(work: Work, ledger: LedgerHistory, reader: Any) -> None:
    expected = 0
    try:
        async for entry in reader.tail(0):
            if entry.entry_id != expected:
                raise Violation(f"ledger {ledger.ledger_id}: {entry.entry_id} came in the place of {expected}")
            ledger.read(entry.entry_id, entry.payload, reader.last_add_confirmed)
            expected += 1
            work.history.count("entries tailed")
    except (CancelledError, asyncio.CancelledError):
        return
    except BookKeeperError as error:
        work.look_at(error, ledger)
        if isinstance(error, NO_ANSWER):
            raise Violation(f"a tail of ledger {ledger.ledger_id} has ended early: {error}") from error

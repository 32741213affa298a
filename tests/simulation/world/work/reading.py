"""Clients read of ledgers what is confirmed, and leave them to their writers."""

from random import Random
from typing import Any

from tests.simulation.world.history import LedgerHistory, Violation
from tests.simulation.world.work.work import Work


async def reads(work: Work, random: Random) -> None:
    while await work.sleep(random.random() * 2):
        ledger, reader = await work.opened(random)
        if ledger is not None and reader is not None:
            last = await work.tried("read last add confirmed", ledger, reader.read_last_add_confirmed)
            if last is not None:
                ledger.confirm(last)
            await read(work, ledger, reader, random)
            reader.close()


async def read(work: Work, ledger: LedgerHistory, reader: Any, random: Random) -> None:
    """Read some of the entries that the reader knows to be confirmed."""
    end = reader.last_add_confirmed
    ledger.confirm(end)
    if end < 0:
        return
    first = random.randrange(end + 1)
    last = random.randrange(first, end + 1)
    entries = await work.tried("read", ledger, reader.read, first, last, batch=random.random() < 0.5)
    if entries is not None:
        if [entry.entry_id for entry in entries] != list(range(first, last + 1)):
            raise Violation(f"ledger {ledger.ledger_id}: a read of {first} to {last} gave other entries")
        for entry in entries:
            ledger.read(entry.entry_id, entry.payload, last)
        work.history.count("entries read", len(entries))

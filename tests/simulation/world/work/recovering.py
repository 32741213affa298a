"""Clients take ledgers over: they recover them, and read what there is."""

from random import Random

from tests.simulation.world.history import LedgerHistory
from tests.simulation.world.work.reading import read
from tests.simulation.world.work.work import Work


async def recovers(work: Work, random: Random) -> None:
    while await work.sleep(random.random() * 6):
        ledger = work.any_ledger(random)
        if ledger is not None:
            await _recover(work, ledger, random)


async def take_over(work: Work, ledger_id: int | None, random: Random) -> None:
    """Recover a ledger, or any that is open."""
    found = [each for each in work.history.ledgers.values() if each.metadata is not None and each.end is None]
    ledger = work.history.ledgers[ledger_id] if ledger_id is not None else random.choice(found or [None])
    if ledger is not None and ledger.metadata is not None:
        await _recover(work, ledger, random)


async def _recover(work: Work, ledger: LedgerHistory, random: Random) -> None:
    reader = await work.tried("open", ledger, work.client.open_ledger, *ledger.key)
    if reader is not None:
        work.history.count("recoveries")
        await read(work, ledger, reader, random)

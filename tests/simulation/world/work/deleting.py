"""Clients delete ledgers that are closed."""

from random import Random

from tests.simulation.world.work.work import Work


async def deletes(work: Work, random: Random) -> None:
    while await work.sleep(2 + random.random() * 8):
        ledger = work.any_ledger(random)
        if ledger is not None and ledger.end is not None:
            ledger.delete_asked = True
            await work.tried("delete", ledger, work.client.delete_ledger, ledger.ledger_id)
            work.history.count("deletions")

"""The end of a history: once all is well, every ledger can be recovered, and has what was acknowledged."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from bookkeeper_tx.client.core import Client
from bookkeeper_tx.errors import BookKeeperError
from tests.simulation.world.client_node import ClientNode
from tests.simulation.world.copies import check_copies
from tests.simulation.world.history import History, LedgerHistory, Stuck, Violation

PATIENCE_S = 40.0
"""A bookie may still be about to start, or to tell the store that it can be written to."""


async def audit(node: ClientNode, history: History) -> None:
    """Look at all ledgers; raises Violation."""
    assert node.client is not None
    await node.client.start()
    for ledger in list(history.ledgers.values()):
        if ledger.metadata is not None:
            await _insist(node, _look_at, ledger)
            await _insist(node, partial(check_copies, history=history), ledger)
            history.count("ledgers looked at")
    await _insist(node, _write, history)
    await node.client.close()


async def _insist(
    node: ClientNode, operation: Callable[[Client[Any, Any, Any], Any], Awaitable[None]], argument: Any
) -> None:
    timeline = node.machine.timeline
    end_s = timeline.now + PATIENCE_S
    while True:
        try:
            assert node.client is not None
            await operation(node.client, argument)
            return
        except BookKeeperError as error:
            if timeline.now > end_s:
                raise Stuck(f"all is well, and yet: {type(error).__name__} {error}") from error
            await node.sleep(1.0)


async def _look_at(client: Client[Any, Any, Any], ledger: LedgerHistory) -> None:
    """Recover a ledger, and read all of it."""
    reader = await client.open_ledger(*ledger.key)
    end = reader.last_add_confirmed
    if end < ledger.told:
        raise Violation(f"ledger {ledger.ledger_id} ends at {end}, but {ledger.acknowledged} was acknowledged")
    entries = await reader.read(0, end) if end >= 0 else []
    if [entry.entry_id for entry in entries] != list(range(end + 1)):
        raise Violation(f"ledger {ledger.ledger_id} lacks entries")
    for entry in entries:
        ledger.read(entry.entry_id, entry.payload, end)


async def _write(client: Client[Any, Any, Any], history: History) -> None:
    """Make, write and close a new ledger."""
    writer = await client.create_ledger(3, 3, 2)
    ledger = history.of(writer.ledger_id)
    ledger.payloads.append(b"last")
    ledger.acknowledge(await writer.append(b"last"), 0)
    await writer.close()

"""The end of a history: once all is well, every ledger can be recovered, and has what was acknowledged.

Clients go on, and what they have opened serves them also when the store is away, or bookies were replaced.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from attrs import evolve

from bookkeeper_tx.client.core import Client
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import Fragment, Versioned
from tests.simulation.world.client_node import ClientNode
from tests.simulation.world.copies import check_copies
from tests.simulation.world.history import History, LedgerHistory, Stuck, Violation

PAUSE_S = 1.0
"""After so long what has failed is tried again: a bookie may still be about to start."""

GONE = "10.0.3.1:3181", "10.0.3.2:3181", "10.0.3.3:3181"
"""Bookies that were there before the history began."""


async def audit(node: ClientNode, history: History, end_s: float) -> None:
    """Look at all ledgers with a new client, until a time at most; raises Violation."""
    assert node.client is not None
    await node.client.start()
    for ledger in list(history.ledgers.values()):
        if ledger.metadata is not None:
            await _insist(node, _look_at, ledger, end_s)
            await _insist(node, partial(check_copies, history=history), ledger, end_s)
            history.count("ledgers looked at")
    await _insist(node, _write, history, end_s)
    await node.client.close()


async def go_on(node: ClientNode, history: History, end_s: float) -> None:
    """Have a client that has seen the faults write a ledger, and read that and a closed one; raises Violation."""
    node.kept = await _insist(node, _write, history, end_s)
    await _insist(node, _read_behind_its_back, node.kept, end_s)
    closed = [each for each in history.ledgers.values() if each.end is not None and not each.delete_asked]
    await _insist(node, _look_at, closed[0], end_s)  # that which is the longest in its memory
    history.count("clients that went on")


async def read_on(node: ClientNode, history: History, end_s: float) -> None:
    """Have such a client read its ledger again, by the handle that it has; raises Violation."""
    await _insist(node, _read_again, node.kept, end_s)
    history.count("clients that read on")


async def _insist(
    node: ClientNode,
    operation: Callable[[Client[Any, Any, Any], Any], Awaitable[Any]],
    argument: Any,
    end_s: float,
) -> Any:
    timeline = node.machine.timeline
    while True:
        try:
            assert node.client is not None
            return await operation(node.client, argument)
        except BookKeeperError as error:
            if timeline.now > end_s - 2 * PAUSE_S:
                raise Stuck(f"all is well, and yet: {type(error).__name__} {error}") from error
            await node.sleep(PAUSE_S)


async def _look_at(client: Client[Any, Any, Any], ledger: LedgerHistory) -> None:
    """Recover a ledger, and read all of it."""
    await _read_again(client, (ledger, await client.open_ledger(*ledger.key)))


async def _read_again(client: Client[Any, Any, Any], kept: tuple[LedgerHistory, Any]) -> None:
    """Read all of a ledger by a reader."""
    ledger, reader = kept
    end = reader.last_add_confirmed
    if end < ledger.told:
        raise Violation(f"ledger {ledger.ledger_id} ends at {end}, but {ledger.acknowledged} was acknowledged")
    entries = await reader.read(0, end) if end >= 0 else []
    if [entry.entry_id for entry in entries] != list(range(end + 1)):
        raise Violation(f"ledger {ledger.ledger_id} lacks entries")
    for entry in entries:
        ledger.read(entry.entry_id, entry.payload, end)


async def _read_behind_its_back(client: Client[Any, Any, Any], kept: tuple[LedgerHistory, Any]) -> None:
    """Read a ledger of which all bookies have gone since its reader has read the metadata, and others have it now."""
    _, reader = kept
    old = evolve(reader.metadata, fragments=(Fragment(0, GONE),))
    reader._adopt(Versioned(old, 0))
    await _read_again(client, kept)


async def _write(client: Client[Any, Any, Any], history: History) -> tuple[LedgerHistory, Any]:
    """Make, write, close and read a new ledger; return its reader, too."""
    writer = await client.create_ledger(3, 3, 2)
    ledger = history.of(writer.ledger_id)
    ledger.payloads.append(b"last")
    ledger.acknowledge(await writer.append(b"last"), 0)
    await writer.close()
    # On real parts the history may not know its metadata yet.
    kept = ledger, await client.open_ledger(writer.ledger_id)
    await _read_again(client, kept)
    return kept

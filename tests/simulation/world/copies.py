"""The copies of a ledger that is closed: each entry lies on an ack quorum of the bookies that its fragment names."""

from collections.abc import Collection
from typing import Any

from bookkeeper_tx.client.core import Client
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import BookKeeperError, NoSuchEntry, NoSuchLedger, StorageFailed
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.quorums.quorum import Quorum
from tests.simulation.world.history import History, LedgerHistory, Violation


async def check_copies(client: Client[Any, Any, Any], ledger: LedgerHistory, history: History) -> None:
    """Ask the bookies of a closed ledger which entries they have; what a damaged disk may have lost counts as there."""
    metadata = ledger.metadata
    if metadata is None or ledger.end is None:
        return
    quorum, damaged = Quorum.of(metadata), history.damaged
    # Those that have acknowledged an entry are known if all have to.
    lacks_none = history.must_notice and quorum.ack_quorum_size == quorum.write_quorum_size
    stored: dict[BookieId, Collection[int] | None] = {}
    ends = [fragment.first_entry_id for fragment in metadata.fragments[1:]] + [ledger.end + 1]
    for fragment, end in zip(metadata.fragments, ends, strict=True):
        for entry_id in range(fragment.first_entry_id, end):
            count = 0
            for each in (fragment.ensemble[index] for index in quorum.write_set(entry_id)):
                if each not in stored:
                    stored[each] = await _stored(client, ledger, each, history)
                entries = stored[each]
                is_there = entries is not None and entry_id in entries
                if each == damaged and lacks_none and entries is not None and not is_there:
                    raise Violation(f"ledger {ledger.ledger_id}: {each} lacks entry {entry_id}, and does not know it")
                count += is_there or each == damaged
            if count < quorum.ack_quorum_size:
                raise Violation(f"ledger {ledger.ledger_id}: of entry {entry_id} there are {count} copies, {metadata}")


async def _stored(
    client: Client[Any, Any, Any], ledger: LedgerHistory, bookie_id: BookieId, history: History
) -> Collection[int] | None:
    """Return what a bookie has; None for a damaged one that does not say.

    One that has lost its power is asked for the entries themselves.
    """
    try:
        listed = await client.entries_of(ledger.ledger_id, bookie_id)
    except NoSuchLedger:
        return ()
    except BookKeeperError:
        if bookie_id == history.damaged:
            return None
        raise
    if bookie_id not in history.lost_power or bookie_id == history.damaged:
        return listed
    reads = {entry_id: _read(client, ledger.ledger_id, entry_id, bookie_id) for entry_id in listed}
    return [entry_id for entry_id, read in reads.items() if await read]


def _read(client: Client[Any, Any, Any], ledger_id: int, entry_id: int, bookie_id: BookieId) -> Promise[bool]:
    """Ask one bookie for an entry; fires with whether it has given one."""
    given: Promise[bool] = client._context.driver.promise()

    def replied(error: BookKeeperError | None, entry: Any) -> None:
        if error is None or isinstance(error, NoSuchEntry | NoSuchLedger | StorageFailed):
            given.callback(error is None)
        else:
            given.errback(error)

    client._context.channel(bookie_id, ledger_id).read_entry(ledger_id, entry_id, replied)
    return given

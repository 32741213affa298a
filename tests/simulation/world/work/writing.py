"""Clients write ledgers: entries one by one and together, with pauses, closed in the end or not."""

from random import Random
from typing import Any

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import DigestType
from tests.simulation.world.history import LedgerHistory, Violation
from tests.simulation.world.work.work import Work

DIGESTS = (DigestType.CRC32C, DigestType.CRC32, DigestType.MAC, DigestType.DUMMY)
SIZES = (0, 10, 100, 3000)

TOGETHER = 0.2
"""How often entries are appended in one call."""

LONG_PAUSE_S = 1.0
"""For so long a writer does nothing, at least, where that is a moment for faults: what was appended is flushed."""


async def writes(work: Work, random: Random) -> None:
    while await work.sleep(random.random() * 2):
        options = {"digest_type": random.choice(DIGESTS), "password": random.choice((b"", b"secret"))}
        writer = await work.tried("create", None, work.client.create_ledger, *random.choice(work.quorums), **options)
        if writer is not None:
            await _write(work, writer, random)


async def _write(work: Work, writer: Any, random: Random) -> None:
    ledger = work.history.of(writer.ledger_id)
    ledger.writer = work.number
    for _ in range(random.choice((1, 2, 6))):
        first = len(ledger.payloads)
        for _ in range(random.choice((1, 4, 20))):
            payload = b"%d/%d " % (writer.ledger_id, len(ledger.payloads)) + bytes(random.choice(SIZES))
            ledger.payloads.append(payload)
        if random.random() < TOGETHER:
            appended = [work.watched("append many", _append_many(work, ledger, writer, first))]
        else:
            new = enumerate(ledger.payloads[first:], first)
            appended = [work.watched("append", _append(work, ledger, writer, *each)) for each in new]
        work.history.happened("append", ledger)
        told = [await each for each in appended]
        if not all(told):
            break
        if random.random() < 0.3:
            last = await work.tried("publish", ledger, writer.write_last_add_confirmed)
            if last is not None:
                ledger.confirm(last)
        pause_s = random.choice((0, 0, 0, 0.05, 1.0, 3.0))
        if pause_s >= LONG_PAUSE_S:
            work.history.happened("pause", ledger)
        if not await work.sleep(pause_s):
            break
    if random.random() < 0.7:
        await work.tried("close", ledger, writer.close)


async def _append(work: Work, ledger: LedgerHistory, writer: Any, index: int, payload: bytes) -> bool:
    try:
        appending = writer.append(payload)
        work.look_at_memory(writer)
        entry_id = await appending
        work.look_at_memory(writer)
    except BookKeeperError as error:
        work.look_at(error, ledger)
        return False
    ledger.acknowledge(entry_id, index)
    work.history.count("appends")
    return True


async def _append_many(work: Work, ledger: LedgerHistory, writer: Any, first: int) -> bool:
    payloads = ledger.payloads[first:]
    try:
        # Entries of an iterator are read as there is room, those of a list at once.
        ids = await writer.append_many(iter(payloads) if first % 2 else payloads)
        work.look_at_memory(writer)
    except BookKeeperError as error:
        work.look_at(error, ledger)
        return False
    if len(ids) != len(payloads):
        raise Violation(f"ledger {ledger.ledger_id}: {len(payloads)} appends have got the ids {ids}")
    for index, entry_id in enumerate(ids, first):
        ledger.acknowledge(entry_id, index)
    work.history.count("appends together", len(payloads))
    return True

"""Tailing: reading a ledger that is being written as it grows (docs/guides/client.md)."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.long_poll import TailWait
from bookkeeper_tx.client.read_entry import EntryRead
from bookkeeper_tx.client.read_pieces import read_pieces
from bookkeeper_tx.driver import Promise, pause
from bookkeeper_tx.errors import NO_ANSWER, InvalidArgument, TlsFailed, TooManyRequests
from bookkeeper_tx.model import Entry
from protocol_specs import fields

TAIL_WAIT_S = 60.0
"""How long :func:`tail` waits before it fails because no bookie answers."""

AGAIN_S = 1.0
"""How long it waits before it reads again what no bookie has given."""

MAY_ANSWER_LATER = (*NO_ANSWER, TlsFailed, TooManyRequests)
"""Errors of bookies that may answer later."""

WAIT_MAX_S = 86400.0
"""Longest wait that can be asked for: a day."""


def wait_last_add_confirmed(reader: LedgerView, beyond: int, timeout_s: float, name: str = "beyond") -> "Promise[int]":
    """Wait until the last add confirmed is past ``beyond``, the ledger is closed, or the time is over.

    ``name`` is what the caller calls ``beyond``.
    """
    return reader.context.driver.spawn(_last_add_confirmed(reader, beyond, timeout_s, name))


def read_when_confirmed(reader: LedgerView, entry_id: int, timeout_s: float) -> "Promise[tuple[int, Entry | None]]":
    """Wait as :func:`wait_last_add_confirmed` does until ``entry_id`` is confirmed, and read it."""
    return reader.context.driver.spawn(_read(reader, entry_id, timeout_s))


async def _last_add_confirmed(reader: LedgerView, beyond: int, timeout_s: float, name: str) -> int:
    return (await _wait(reader, beyond, timeout_s, name))[0]


async def _read(reader: LedgerView, entry_id: int, timeout_s: float) -> tuple[int, Entry | None]:
    if not isinstance(entry_id, int) or not 0 <= entry_id <= fields.ENTRY_ID_MAX:
        raise InvalidArgument(f"entry_id {entry_id!r} must be an integer of at least 0")
    last_add_confirmed, entry = await _wait(reader, entry_id - 1, timeout_s)
    if entry is None and entry_id <= last_add_confirmed:
        reading = EntryRead(reader, entry_id)
        reading.start()
        entry = await reading.deferred
    return last_add_confirmed, entry


async def _wait(reader: LedgerView, beyond: int, timeout_s: float, name: str = "beyond") -> tuple[int, Entry | None]:
    if not isinstance(beyond, int) or not fields.NO_ENTRY <= beyond <= fields.ENTRY_ID_MAX:
        raise InvalidArgument(f"{name} {beyond!r} must be an integer of at least {fields.NO_ENTRY}")
    if not 0 < timeout_s <= WAIT_MAX_S:
        raise InvalidArgument(f"timeout_s {timeout_s!r} must be above 0 and at most {WAIT_MAX_S}")
    if reader.closed or reader.last_add_confirmed > beyond:
        return reader.last_add_confirmed, None
    return await TailWait(reader, beyond, timeout_s).start()


async def tail(reader: LedgerView, first_entry_id: int) -> AsyncGenerator[Entry, None]:
    """Iterate over the entries from ``first_entry_id`` on as they are confirmed, until the ledger is closed."""
    cursor = first_entry_id
    driver, clock = reader.context.driver, reader.context.clock
    patient_until_s: float | None = None
    while True:
        try:
            while cursor <= reader.last_add_confirmed:
                async with aclosing(read_pieces(reader, cursor, reader.last_add_confirmed)) as pieces:
                    async for piece in pieces:
                        patient_until_s = None
                        for each in piece:
                            cursor = each.entry_id + 1
                            yield each
        except MAY_ANSWER_LATER:
            now = clock.seconds()
            if patient_until_s is None:
                patient_until_s = now + TAIL_WAIT_S
            if now >= patient_until_s:
                raise
            await pause(driver, AGAIN_S)
            continue
        if reader.closed:
            return
        _, entry = await driver.spawn(_wait(reader, cursor - 1, TAIL_WAIT_S))
        if entry is not None:
            cursor += 1
            yield entry

"""``/api/v1/ledger/read``: the entries of a ledger as text, up to its last add confirmed."""

from contextlib import aclosing
from typing import Final

from bookkeeper_tx.bookie.http.administered import ANSWER_BYTES_MAX, Administered
from bookkeeper_tx.bookie.http.answer import BAD_REQUEST, FAILED, NOT_FOUND, Answer, Refused
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.http.large_object import LargeObject, TooLarge
from bookkeeper_tx.model import LedgerId

PAGE_COUNT: Final = 1000
"""Entries of a page."""


async def read_ledger(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET" or "ledger_id" not in call.parameters:
        return Answer("Not found method. Should be GET method, with ledger_id provided", NOT_FOUND)
    ledger_id, page = call.ledger_id, call.integer("page", -1)
    first, last = _range(call, page)
    found = LargeObject(bookie.threads, ANSWER_BYTES_MAX)
    if page > 0:
        await found.add([("Entries for page: ", str(page))])
    await _read(bookie, ledger_id, first, last, found)
    return await found.answer()


def _range(call: Call, page: int) -> tuple[int, int]:
    """Return the first entry that is asked for and the last, -1 for the end of the ledger."""
    first, last = call.integer("start_entry_id", 0), call.integer("end_entry_id", -1)
    if page > 0:
        page_first = (page - 1) * PAGE_COUNT
        page_last = page_first + PAGE_COUNT - 1
        first = max(first, page_first)
        last = page_last if last == -1 else min(last, page_last)
    if last != -1 and first > last:
        raise Refused(
            FAILED, f"parameter for start_entry_id: {first} and end_entry_id: {last} conflict with page={page}"
        )
    if first < 0:
        raise Refused(FAILED, f"start_entry_id={first} is no id of an entry")
    return first, last


async def _read(bookie: Administered, ledger_id: LedgerId, first: int, last: int, found: LargeObject) -> None:
    """Read as an administrator: with the password in the metadata, and without disturbing a writer."""
    metadata = (await bookie.store.read_ledger(ledger_id)).metadata
    client = await bookie.client.started()
    reader = await client.open_ledger_no_recovery(ledger_id, metadata.password or b"", metadata.digest_type)
    async with reader:
        end = reader.last_add_confirmed if last == -1 else min(last, reader.last_add_confirmed)
        if first > end:
            return
        async with aclosing(reader.entries(first, end)) as pieces:
            async for piece in pieces:
                try:
                    await found.add((str(entry.entry_id), entry.payload.decode("ascii", "replace")) for entry in piece)
                except TooLarge:
                    raise Refused(
                        BAD_REQUEST,
                        f"entries {first} to {end} have more than {ANSWER_BYTES_MAX} bytes in JSON: ask for fewer, "
                        "with start_entry_id and end_entry_id",
                    ) from None

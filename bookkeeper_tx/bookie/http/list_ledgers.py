"""``/api/v1/ledger/list``: the ledgers of a scope, with their metadata if asked for."""

from collections.abc import Sequence
from typing import Any, Final

from twisted.internet.defer import DeferredList

from bookkeeper_tx.bookie.http.administered import ANSWER_BYTES_MAX, Administered
from bookkeeper_tx.bookie.http.answer import BAD_REQUEST, NOT_FOUND, Answer, Refused
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.http.large_object import LargeObject, TooLarge
from bookkeeper_tx.bookie.http.metadata_json import metadata_json
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.metadata.ledger_record.serialization import serialize
from bookkeeper_tx.model import LedgerId, LedgerMetadata

PAGE_COUNT: Final = 100
"""Ledgers of a page; their metadata is read at once."""


async def list_ledgers(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Not found method. Should be GET method", NOT_FOUND)
    scope_id = call.integer("ledger_scope_id", 0)
    print_metadata = call.flag("print_metadata")
    page = call.integer("page", -1) if print_metadata else -1
    ledger_ids = [LedgerId(each) for each in await bookie.store.list_ledgers(scope_id)]
    if not print_metadata:
        return await bookie.large_json({str(each.ledger_id): None for each in ledger_ids})
    chosen = page_of(ledger_ids, page) if page > 0 else ledger_ids
    return await _with_metadata(bookie, chosen, call.flag("decode_meta"))


def page_of(ledger_ids: Sequence[LedgerId], page: int) -> Sequence[LedgerId]:
    """Return the ledgers of a page, from 1 on, as Java cuts them: the first page has one less than the others."""
    first = (page - 1) * PAGE_COUNT
    return ledger_ids[max(first - 1, 0) : first + PAGE_COUNT - 1]


async def _with_metadata(bookie: Administered, ledger_ids: Sequence[LedgerId], decoded: bool) -> Answer:
    found = LargeObject(bookie.threads, ANSWER_BYTES_MAX)
    for first in range(0, len(ledger_ids), PAGE_COUNT):
        batch = ledger_ids[first : first + PAGE_COUNT]
        reading: list[Any] = [bookie.store.read_ledger(each) for each in batch]
        members: list[tuple[LedgerId, LedgerMetadata]] = []
        stored: Any
        for ledger_id, (succeeded, stored) in zip(batch, await DeferredList(reading, consumeErrors=True), strict=True):
            if succeeded:
                members.append((ledger_id, stored.metadata))
            elif not stored.check(NoSuchLedger):  # else it was deleted meanwhile
                stored.raiseException()
        try:
            await found.add((str(each.ledger_id), _value(each, metadata, decoded)) for each, metadata in members)
        except TooLarge:
            raise Refused(
                BAD_REQUEST, f"the metadata has more than {ANSWER_BYTES_MAX} bytes: ask for page=1, page=2, and so on"
            ) from None
    return await found.answer()


def _value(ledger_id: LedgerId, metadata: LedgerMetadata, decoded: bool) -> Any:
    return metadata_json(ledger_id, metadata) if decoded else serialize(metadata).decode("utf-8", "replace")

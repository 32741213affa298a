"""``/api/v1/bookie/entry_location_compact``: compacts the databases of entry locations of a storage on RocksDB."""

from typing import Any

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import BAD_REQUEST, FAILED, METHOD_NOT_ALLOWED, Answer, Refused, json_answer
from bookkeeper_tx.bookie.http.call import BAD_JSON, Call


async def entry_location_compact(call: Call, bookie: Administered) -> Answer:
    if call.method == "GET":
        return json_answer(dict(bookie.locations.compacting()))
    if call.method == "PUT":
        return _compact(call, bookie)
    return Answer(
        "Not found method. Should be PUT to trigger entry location compact,"
        " Or GET to get entry location compact state.",
        METHOD_NOT_ALLOWED,
    )


def _compact(call: Call, bookie: Administered) -> Answer:
    if not call.body.strip():
        return Answer("Empty request body", BAD_REQUEST)
    try:
        body = call.json_body()
    except Refused:
        return json_answer(BAD_JSON, BAD_REQUEST)
    asked, named = _asked_for(body)
    if not asked:
        return Answer("Not trigger Entry Location RocksDB compact.")
    paths = list(bookie.locations.compacting())
    if not named.strip():
        bookie.locations.compact(paths)
        return json_answer(f"Triggered entry Location RocksDB compact on bookie:{bookie.bookie_id}")
    chosen = named.strip().split(",")
    if set(chosen) - set(paths):
        return json_answer(
            f"Specified trigger compact entryLocations: {named} is invalid. "
            f"Bookie entry location RocksDB path: [{', '.join(paths)}].",
            BAD_REQUEST,
        )
    bookie.locations.compact(chosen)
    return json_answer(f"Triggered entry Location RocksDB: {named} compact on bookie:{bookie.bookie_id}.")


def _asked_for(body: dict[str, Any]) -> tuple[bool, str]:
    asked, named = body.get("entryLocationRocksDBCompact", False), body.get("entryLocations", "")
    if not isinstance(asked, bool) or not isinstance(named, str):
        raise Refused(FAILED, "entryLocationRocksDBCompact is true or false, entryLocations paths joined by commas")
    return asked, named

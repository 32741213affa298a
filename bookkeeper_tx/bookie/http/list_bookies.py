"""``/api/v1/bookie/list_bookies``: the bookies that are registered, writable or read-only."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.errors import BookieUnavailable


async def list_bookies(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Not found method. Should be GET method", NOT_FOUND)
    store = bookie.store
    read_only = call.parameters.get("type") == "ro"
    found = await (store.read_only_bookies() if read_only else store.writable_bookies())
    hosts: dict[str, str | None] = dict.fromkeys(sorted(found))
    if call.flag("print_hostnames"):
        for bookie_id in hosts:
            try:
                hosts[bookie_id] = (await store.bookie_info(bookie_id)).host
            except BookieUnavailable:
                continue  # it has just gone
    return json_answer(hosts)

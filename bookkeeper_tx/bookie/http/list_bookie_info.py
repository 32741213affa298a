"""``/api/v1/bookie/list_bookie_info``: the disk space of all writable bookies, as they answer."""

from collections.abc import Iterable

from twisted.logger import Logger

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.errors import BookKeeperError

UNITS = ("", "KB", "MB", "GB", "TB")

log = Logger()


async def list_bookie_info(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Not found method. Should be GET method", NOT_FOUND)
    client = await bookie.client.started()
    found = await _asked(client, sorted(await bookie.store.writable_bookies()))
    if not found:
        return Answer("Not found any Bookie info.", NOT_FOUND)
    told = {bookie_id: f": {_space(free, total)}," for bookie_id, (free, total) in found.items()}
    told["ClusterInfo: "] = _space(sum(free for free, _ in found.values()), sum(total for _, total in found.values()))
    return json_answer(told)


async def _asked(client: BookKeeper, bookie_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return free and total bytes of those that answer."""
    asked = [(bookie_id, client.bookie_info(bookie_id)) for bookie_id in bookie_ids]
    found = {}
    for bookie_id, answer in asked:
        try:
            disk = await answer
        except BookKeeperError as error:
            log.warn("no disk space of bookie {bookie_id}: {error}", bookie_id=bookie_id, error=error)
            continue
        found[bookie_id] = disk.free_bytes or 0, disk.total_bytes or 0
    return found


def _space(free: int, total: int) -> str:
    return f"{{Free: {free}{readable(free)}, Total: {total}{readable(total)}}}"


def readable(size: float) -> str:
    """Return what Java writes behind a size: nothing below a thousand, else the size in thousands, rounded down."""
    unit = 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size /= 1000
        unit += 1
    if not unit:
        return ""
    rounded = f"{int(size * 1000) / 1000:.3f}".rstrip("0").rstrip(".")
    return f"({rounded}{UNITS[unit]})"

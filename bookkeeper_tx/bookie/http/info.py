"""``/api/v1/bookie/info``: the space of the disks that hold the ledgers."""

from collections.abc import Sequence
from contextlib import closing

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call


async def info(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Only GET is supported.", NOT_FOUND)
    free, total = await bookie.threads.run(_space, bookie.disk, bookie.ledger_directories)
    return json_answer({"freeSpace": free, "totalSpace": total})


def _space(disk: Disk, directories: Sequence[str]) -> tuple[int, int]:
    """Return free and total bytes of the disks, each of which counts once."""
    by_device: dict[int, str] = {}
    for directory in directories:
        with closing(disk.open_directory(directory)) as opened:
            by_device[opened.identity[0]] = directory
    disks = by_device.values()
    return sum(map(disk.free_bytes, disks)), sum(map(disk.total_bytes, disks))

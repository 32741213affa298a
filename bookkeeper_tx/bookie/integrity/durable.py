"""Waiting for what is in memory to be on the disk."""

from typing import Any, Final

from twisted.internet.task import deferLater
from twisted.logger import Logger

from bookkeeper_tx.bookie.storage.several.storages import AnyStorage

LOOK_S: Final = 0.05
"""How often it is looked whether a flush has ended."""

log = Logger()


async def room(clock: Any, storage: AnyStorage) -> None:
    """Wait while the write cache is full, or a disk but for its reserve, which is for what must be written."""
    if storage.disk_full:
        log.warn("no entries are copied from other bookies while a disk is full")
        while storage.disk_full:
            await deferLater(clock, LOOK_S)
        log.info("entries are copied again, since no disk is full")
    while storage.full:
        _ask(storage)
        await deferLater(clock, LOOK_S)


async def durable(clock: Any, storage: AnyStorage) -> None:
    """Wait until all that ``storage`` has now is durable, however often a flush fails."""
    change = storage.limbo.last_change
    while not storage.limbo.is_durable(change):
        _ask(storage)
        await deferLater(clock, LOOK_S)


def _ask(storage: AnyStorage) -> None:
    """Have a flush begin; one that has failed is tried again in a while anyway."""
    if not storage.flush_failed:
        storage.on_flush_wanted()

"""The storage of a bookie: one for all its directories, or one for each."""

from collections.abc import Callable, Sequence
from typing import Any

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.disks import HomeDisks
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.several.homes import share_of
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage, SeveralStorages
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.threads.worker import Threads


def storage_of(
    disk: Disk,
    homes: Sequence[HomeDisks],
    config: BookieConfig,
    flush_worker: Threads,
    read_worker: Threads,
    time_s: Callable[[], float],
    choose: Callable[[Sequence[str]], str],
) -> AnyStorage:
    """Return the storage on these disks; several ``homes`` share the memory that ``config`` gives to one."""
    share = share_of(config, len(homes)) if len(homes) > 1 else config

    def one(home: HomeDisks) -> LedgerStorage:
        more: dict[str, Any] = {"index_disks": home.indexes, "sharer_count": len(homes)}
        return LedgerStorage(disk, home.ledgers, share, flush_worker, read_worker, time_s=time_s, choose=choose, **more)

    if len(homes) == 1:
        return one(homes[0])
    return SeveralStorages(list(map(one, homes)), [next(iter(home.ledgers.spaces)) for home in homes])

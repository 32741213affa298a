"""Which of several ledger directories has a ledger, where each has a storage of its own: Java's rule."""

from collections.abc import Iterable, Sequence

from attrs import evolve

from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart
from bookkeeper_tx.model import ledger_name
from protocol_specs.ledger_id import SCOPED_MIN, split

BUDGETS = (
    "write_cache_bytes_max",
    "read_cache_bytes_max",
    "index_pages_max",
    "open_index_files_max",
    "rocksdb_block_cache_bytes",
    "rocksdb_write_buffer_bytes",
)
"""Fields of the configuration that are memory, or files, of the whole bookie."""


def home_of(ledger_id: int, count: int) -> int:
    """Return the index of the directory in which a ledger is at home, of ``count`` as the configuration has them.

    Of a ledger outside scope 0, which Java does not have, the lower half of the id counts.
    """
    return (ledger_id if ledger_id < SCOPED_MIN else split(ledger_id)[1]) % count


def share_of(config: BookieConfig, count: int) -> BookieConfig:
    """Return the configuration of each of ``count`` storages, which together take what one would."""
    return evolve(config, **{field: max(getattr(config, field) // count, 1) for field in BUDGETS})


def check_homes(ledger_ids: Iterable[int], at: int, directories: Sequence[str]) -> None:
    """Raise RefusedToStart if one of the ledgers of ``directories[at]`` is at home in another of them.

    Requests for it would go there, and hear that it does not exist.
    """
    for ledger_id in ledger_ids:
        home = home_of(ledger_id, len(directories))
        if home != at:
            raise RefusedToStart(
                f"ledger {ledger_name(ledger_id)} is in {directories[at]}, but DbLedgerStorage would look for it in "
                f"{directories[home]}: the number or the order of the directories, by which it finds each ledger, was "
                "changed.  Name them as they were when the ledger was written"
            )

"""The memory that a program may take: its budgets, looked at whenever it has done something."""

from collections.abc import Mapping

from bookkeeper_tx.bookie.operations.stored_runs import LOAD_BYTES
from bookkeeper_tx.bookie.storage.unflushed import REPLAYED_CACHES_MAX
from bookkeeper_tx.config import ClientConfig
from tests.simulation.world.connection import WINDOW_BYTES
from tests.simulation.world.history import Violation

REQUEST_BYTES = WINDOW_BYTES + 32 * 1024
"""One run of adds: no more than came at once, with what its parts take besides their bytes.  A bookie looks at a limit
before it serves a request, and then has the whole of it."""

CONNECTIONS = 4
"""Connections whose requests are held back, each of which had its last run when it was not read from any more."""

OVER = {
    "queued": REQUEST_BYTES,
    "write_cache": REQUEST_BYTES,
    "held_adds": CONNECTIONS * REQUEST_BYTES,
    "held_fences": CONNECTIONS * REQUEST_BYTES,
    "reads": LOAD_BYTES,
}
"""By how much the bytes of a budget may be over its limit; the others not at all."""

ENTRY_BYTES = 4096
"""A writer looks at its limit before it sends an entry."""


def look_at_bookie(bookie_id: str, budgets: Mapping[str, tuple[int, int]]) -> None:
    """Raise a violation if there is more in memory than there may be."""
    for name, (used, most) in budgets.items():
        if used > most and used > _most(name, most):
            raise Violation(f"bookie {bookie_id} has {used} bytes of the budget {name}, and may have {most}")


def _most(name: str, most: int) -> int:
    """Return how many bytes of a budget there may be; this is called only after a step that went over its limit."""
    if name == "write_cache":
        # A replay that could not flush may have filled more of them, and with one more request.
        most = most * REPLAYED_CACHES_MAX // 2 + REQUEST_BYTES
    return most + OVER.get(name, 0)


def look_at_writer(count: int, size: int, config: ClientConfig) -> None:
    """Raise a violation if a writer has more appends on their way than it may have: so many, of so many bytes."""
    if count > config.outstanding_adds_max:
        raise Violation(f"{count} appends are on their way, and {config.outstanding_adds_max} may be")
    if size > config.outstanding_bytes_max + ENTRY_BYTES:
        raise Violation(f"appends of {size} bytes are on their way, and {config.outstanding_bytes_max} may be")

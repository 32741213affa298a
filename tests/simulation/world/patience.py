"""How long an operation of a client may take: the sum of the time-outs that it may run into, one after the other."""

from attrs import frozen

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.transport.client_link import SWEEP_INTERVAL_S

WAIT_S = 1.0
"""How long the workload waits for a last add confirmed at a time."""

TURNS_S = 0.5
"""What the turns of the program and the latency of the store take besides."""

REPLICAS_MAX = 3
"""Bookies that have an entry."""

SLOW_LINK_S = 14.0
"""How long 64 KiB are on their way over the slowest link: what was sent before it got fast again."""


@frozen
class Bound:
    """How long an operation may take."""

    seconds: float
    each_change_s: float = 0.0
    """How much longer for each change of the ledger's metadata meanwhile."""


def bounds(config: ClientConfig) -> dict[str, Bound]:
    """Return the longest time of each operation that asks each of some things once.

    Not those that go on as long as there is another bookie to turn to: they are bounded by :func:`settled`.  A writer
    looks for others for an append as often as bookies fail it, and a recovery for each entry that it writes back.
    """
    store_s = config.metadata_timeout_s
    # Its address, a connection, a login, and the answer, looked for at intervals.
    bookie_s = store_s + 2 * config.connect_timeout_s + config.read_timeout_s + 2 * SWEEP_INTERVAL_S
    # A read that waits for a connection asks the next one meanwhile, so these are the times of their answers.
    replicas_s = REPLICAS_MAX * (config.read_timeout_s + 2 * SWEEP_INTERVAL_S)
    each = {
        # Whatever hangs, the time that was asked for is over at some time.
        "wait": WAIT_S + TURNS_S,
        # All bookies at once.
        "publish": bookie_s + TURNS_S,
        # The metadata, and again, since nobody watched them before; then all bookies at once.
        "open to read": 2 * store_s + bookie_s + TURNS_S,
        # The metadata, if they have changed; then all bookies at once.
        "read last add confirmed": store_s + bookie_s + TURNS_S,
        # An id, the bookies if too few are known, the metadata, and whether it was ours if the answer was lost.
        "create": 4 * store_s + TURNS_S,
        # One replica after the other, and the metadata when all have failed.
        "read": store_s + replicas_s + TURNS_S,
        "read batch": store_s + replicas_s + TURNS_S,
        # Deleted, and whether there is one if the answer was lost.
        "delete": 2 * store_s + TURNS_S,
    }
    return {
        **{what: Bound(seconds) for what, seconds in each.items()},
        # The metadata are written, and if they are others by then read and written again: those that the writer has
        # changed without an answer yet, and those that change meanwhile.  Its appends have all ended before.
        "close": Bound(3 * store_s + TURNS_S, each_change_s=2 * store_s),
    }


def settled(config: ClientConfig) -> float:
    """Return how long after the last fault all operations may take.

    A question to the store hangs, then a read or an add on a dead connection to each replica, and one link was slow.
    """
    answer_s = max(config.read_timeout_s, config.add_timeout_s) + 2 * SWEEP_INTERVAL_S
    return config.metadata_timeout_s + REPLICAS_MAX * answer_s + SLOW_LINK_S

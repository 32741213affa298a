"""What holds until a time: the quarantine of a bookie, or that it is asked last."""

from collections.abc import Mapping

from bookkeeper_tx.driver import Clock
from bookkeeper_tx.model import BookieId


def unexpired(until: dict[BookieId, float], clock: Clock) -> Mapping[BookieId, float]:
    """Drop the bookies of ``until`` whose time is past, and return it."""
    if until:
        now = clock.seconds()
        for bookie_id in [each for each, until_s in until.items() if until_s <= now]:
            del until[bookie_id]
    return until

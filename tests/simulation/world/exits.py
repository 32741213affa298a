"""Why a bookie may end by itself: for what has been wrong with it, and for nothing else."""

import re
from collections.abc import Collection
from enum import IntEnum

from attrs import frozen

from tests.simulation.world.history import Violation

STORE_KINDS = frozenset({"store away", "slow store", "lost answers", "late turn", "expired session"})
"""After these a bookie may not have an answer of the metadata store in time, at whichever bookie they strike."""

DAMAGES = ("bit flip", "lost journal file", "misdirected write", "older journal", "older ledgers", "zeroed sector")
"""After these a bookie has to notice what it lacks."""


class Stage(IntEnum):
    """How far a bookie has come; the later, the less may end it."""

    NEW = 0
    """It starts, and has never served: its directories may lack what it needs to serve."""
    STARTING = 1
    """It starts, and has served before."""
    SERVING = 2


@frozen
class Reason:
    """One kind of reason, and the faults that may lead to it."""

    pattern: str
    """Is found in what the bookie says when it ends."""
    kinds: frozenset[str]
    """One of these has struck at the bookie."""
    until: Stage = Stage.SERVING
    """The last stage in which it is one: a bookie that is further has to go on."""


def _reason(pattern: str, *kinds: str, until: Stage = Stage.SERVING) -> Reason:
    return Reason(pattern, frozenset(kinds), until)


REASONS = (
    # The content of the file is unknown then: only a replay finds it out.
    _reason(r"cannot sync journal (file|directory) .*\[Errno 5\]", "failing syncs"),
    _reason(r"cannot sync journal (file|directory) .*\[Errno 30\]", "read only disk"),
    # Going on would write where nobody looks for it.
    _reason("has lost the files of this bookie|is not the directory of this bookie", "vanished directory"),
    # What could not be flushed is in the journal.
    _reason(r"while stopping: .*\[Errno 2\]", "vanished directory", "vanished index"),
    _reason(r"while stopping: .*\[Errno 5\]", "failing writes", "failing syncs", "failing reads"),
    _reason(r"while stopping: .*\[Errno 24\]", "no descriptors"),
    _reason(r"while stopping: .*\[Errno 28\]", "full disk"),
    _reason(r"while stopping: .*\[Errno 30\]", "read only disk"),
    # A scrubber that is not given the bytes.
    _reason(r"cannot read .*\[Errno 5\]", "failing reads"),
    _reason(r"cannot read the locations of ledger \d+: \[Errno 5\]", "vanished directory", "vanished index"),
    # What cannot be read must not count as never written.
    _reason("is damaged|is missing|bring (it )?back|no group of records ends there", *DAMAGES),
    _reason(r"bring it back|no cookie|\[Errno 2\]", "vanished directory", until=Stage.STARTING),
    # Of what has vanished from a read-only disk nothing can be made anew.
    _reason(r"directory .* cannot be used: \[Errno 30\]", "vanished directory", until=Stage.STARTING),
    # A bookie that begins needs its disk; the service manager tries again.
    _reason(r"\[Errno 5\]", "failing writes", "failing syncs", "failing reads", until=Stage.STARTING),
    _reason(r"\[Errno 24\]", "no descriptors", until=Stage.STARTING),
    # One that has served before serves reads then, also with databases: their doubles need no room to be opened.
    _reason(r"\[Errno 28\]", "full disk", until=Stage.NEW),
    _reason(r"\[Errno 30\]", "read only disk", until=Stage.NEW),
    # Then it stays registered until its session expires.
    _reason("while stopping: the metadata store did not answer in time", *STORE_KINDS),
    _reason("the metadata store did not answer in time", *STORE_KINDS, until=Stage.STARTING),
)


def check_exit(bookie_id: str, said: Collection[str], stage: Stage, struck: Collection[str], told: bool) -> None:
    """Raise a violation if a bookie has ended for a reason that it must not have.

    ``said`` are its lines about that, ``stage`` is how far it had come, ``struck`` are the kinds of faults that have
    struck at it so far, and ``told`` is whether somebody had told it to stop.
    """
    if not said and not told:
        raise Violation(f"bookie {bookie_id} has ended, and nobody knows why")
    for line in said:
        if not any(_explains(each, line, stage, struck) for each in REASONS):
            raise Violation(f"bookie {bookie_id} has ended, and must not for that: {line}")


def _explains(reason: Reason, line: str, stage: Stage, struck: Collection[str]) -> bool:
    if stage > reason.until:
        return False
    return not reason.kinds.isdisjoint(struck) and re.search(reason.pattern, line) is not None

"""What a case is given while it runs: the record, the clock, and the ways to say what is wrong."""

import random
import time
import zlib
from collections.abc import Callable, Mapping, Sequence

from attrs import Factory, field, frozen

from compat_tests.judge.case import Case, Dialect
from compat_tests.judge.recording import Recording
from compat_tests.judge.verdict import Interrupted, Mismatch
from protocol_specs.wire.status import Status

_SEED_BITS, _CASE_BITS, _LEDGER_BITS = 18, 32, 12
"""Of a ledger id: what keeps runs, cases and the ledgers of one case apart. 62 bits: positive in every format."""


@frozen
class Brief:
    """One case to try in one dialect."""

    case: Case
    dialect: Dialect
    seed: int
    features: Mapping[str, str] = field(factory=dict)
    stopped: Callable[[], bool] = lambda: False
    """Whether the run is being stopped."""
    recording: Recording = Factory(Recording)


class Attempt:
    """One try of one case.  The roles derive from it what their cases are given."""

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self.dialect = brief.dialect
        self.recording = brief.recording
        self.features = frozenset(name for name, found in brief.features.items() if found == "yes")
        self.notes: list[str] = []
        """Why a pass is not strict."""
        self.deadline = time.monotonic() + brief.case.limit_s
        self.random = random.Random(f"{brief.seed}/{brief.case.id}/{brief.dialect}")
        self._ledgers = 0

    def new_ledger(self) -> int:
        """A ledger id that no other case or run has; the same one for the same seed."""
        case = zlib.crc32(f"{self.brief.case.id}/{self.dialect}".encode())
        run = self.brief.seed % (1 << _SEED_BITS)
        self._ledgers += 1
        return (run << _CASE_BITS | case) << _LEDGER_BITS | self._ledgers

    def left_s(self) -> float:
        """Seconds until the limit of the case.  Raises Mismatch when it has passed, Interrupted when the run ends."""
        if self.brief.stopped():
            raise Interrupted
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Mismatch("the case", f"a verdict within {self.brief.case.limit_s:.0f} s", "the limit passed")
        return left

    def wait(self, seconds: float) -> None:
        """Let time pass, within the limit."""
        time.sleep(min(seconds, self.left_s()))

    def wait_until(self, condition: Callable[[], bool], what: str, timeout_s: float = 10.0) -> None:
        """Wait until something is so.  Raises Mismatch if it does not come about."""
        end = time.monotonic() + min(timeout_s, self.left_s())
        while not condition():
            if time.monotonic() > end:
                raise Mismatch(what, f"within {timeout_s:.1f} s", "not yet")
            self.wait(0.01)

    def check(self, what: str, seen: object, expected: object) -> None:
        """Hold what was seen against the one value that is right."""
        if seen != expected:
            raise Mismatch(what, shown(expected), shown(seen))

    def check_one_of(self, what: str, seen: object, expected: Sequence[object]) -> None:
        """Hold what was seen against the values that are right."""
        if seen not in expected:
            raise Mismatch(what, " or ".join(map(shown, expected)), shown(seen))

    def check_that(self, condition: bool, what: str, expected: str, seen: object) -> None:
        """Want a condition to hold; ``expected`` says it in words."""
        if not condition:
            raise Mismatch(what, expected, shown(seen))

    def fail(self, what: str, *, expected: str, seen: str) -> None:
        """Say that the requirement is not met."""
        raise Mismatch(what, expected, seen)

    def tolerate(self, note: str) -> None:
        """Say what is not as it should be, and yet accepted: the pass is not strict."""
        self.notes.append(note)

    def finish(self) -> None:
        """Look whether anything else was harmed; called once the case has passed."""


def shown(value: object) -> str:
    """A value as a report shows it: bytes in hexadecimal, and never more than fits."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        return f"{data[:48].hex() or '(no bytes)'}{'…' if len(data) > 48 else ''} ({len(data)} bytes)"
    if isinstance(value, Status):
        return value.name
    if isinstance(value, (list, tuple)) and len(value) > 20:
        return f"[{', '.join(map(shown, value[:20]))}, …] ({len(value)} values)"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    return str(getattr(value, "name", value)) if not isinstance(value, str) else value

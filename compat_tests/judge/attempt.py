"""What a case is given while it runs: the record, the clock, and the ways to say what is wrong."""

import random
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import TypeVar

from attrs import Factory, field, frozen

from compat_tests.judge.case import Case, Dialect
from compat_tests.judge.recording import Recording
from compat_tests.judge.verdict import Interrupted, Mismatch
from protocol_specs.wire.status import Status

T = TypeVar("T")

_BYTES_SHOWN = 48
"""Of bytes: the first ones, and those from the first difference on."""
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
            raise Mismatch(what, *as_distinct_texts(expected, seen))

    def check_one_of(self, what: str, seen: object, expected: Sequence[object]) -> None:
        """Hold what was seen against the values that are right."""
        if seen not in expected:
            raise Mismatch(what, " or ".join(map(as_text, expected)), as_text(seen))

    def check_that(self, condition: bool, what: str, expected: str, seen: object) -> None:
        """Want a condition to hold; ``expected`` says it in words."""
        if not condition:
            raise Mismatch(what, expected, as_text(seen))

    def first(self, what: str, found: Sequence[T]) -> T:
        """The first of what was seen.  Raises Mismatch if nothing was."""
        if not found:
            raise Mismatch(what, "one at least", "none")
        return found[0]

    def fail(self, what: str, *, expected: str, seen: str) -> None:
        """Say that the requirement is not met."""
        raise Mismatch(what, expected, seen)

    def tolerate(self, note: str) -> None:
        """Say what is not as it should be, and yet accepted: the pass is not strict."""
        self.notes.append(note)

    def finish(self) -> None:
        """Look whether anything else was harmed; called once the case has passed."""


def as_text(value: object) -> str:
    """A value as a report shows it: bytes in hexadecimal, and never more than fits."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        more = "…" if len(data) > _BYTES_SHOWN else ""
        return f"{data[:_BYTES_SHOWN].hex()}{more} ({len(data)} bytes)" if data else "(no bytes)"
    if isinstance(value, Status):
        return value.name
    if isinstance(value, (list, tuple)) and len(value) > 20:
        return f"[{', '.join(map(as_text, value[:20]))}, …] ({len(value)} values)"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_text, value))}]"
    return str(getattr(value, "name", value)) if not isinstance(value, str) else value


def as_distinct_texts(expected: object, seen: object) -> tuple[str, str]:
    """Two values that differ, as a report shows them; where they look the same, from the difference on too."""
    texts = as_text(expected), as_text(seen)
    if texts[0] != texts[1]:
        return texts
    if isinstance(expected, (bytes, bytearray)) and isinstance(seen, (bytes, bytearray)):
        at = _common_length(expected, seen)
        first, second = (value[at : at + _BYTES_SHOWN].hex() for value in (expected, seen))
        return f"{texts[0]}, from byte {at} on {first}", f"{texts[1]}, from byte {at} on {second}"
    if isinstance(expected, (list, tuple)) and isinstance(seen, (list, tuple)):
        at = _common_length(expected, seen)
        if at < min(len(expected), len(seen)):
            first, second = as_distinct_texts(expected[at], seen[at])
            return f"{texts[0]}, number {at}: {first}", f"{texts[1]}, number {at}: {second}"
    return texts


def _common_length(one: Sequence[object], other: Sequence[object]) -> int:
    """How many values at the beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))

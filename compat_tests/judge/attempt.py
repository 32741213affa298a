"""The attempt that a case gets while it runs: its recording, its clock, and checks that report what is wrong."""

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
"""Bytes of a value that a report shows: from its beginning, and from the first difference on."""
_SEED_BITS, _CASE_BITS, _LEDGER_BITS = 18, 32, 12
"""Bits of a ledger id: for the run, the case, and the ledger in its case. 62 in all: positive in every format."""


@frozen
class Brief:
    """One case to try in one protocol version."""

    case: Case
    dialect: Dialect
    seed: int
    features: Mapping[str, str] = field(factory=dict)
    stopped: Callable[[], bool] = lambda: False
    """Whether the run is being stopped."""
    recording: Recording = Factory(Recording)


class Attempt:
    """One try of one case.  Each role has a subclass, which its cases are called with."""

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
        """Wait until a condition holds.  Raises Mismatch if it does not hold in time."""
        end = time.monotonic() + min(timeout_s, self.left_s())
        while not condition():
            if time.monotonic() > end:
                raise Mismatch(what, f"within {timeout_s:.1f} s", "not yet")
            self.wait(0.01)

    def check(self, what: str, seen: object, expected: object) -> None:
        """Compare a value with the one that is right.  Raises Mismatch if they differ."""
        if seen != expected:
            raise Mismatch(what, *as_distinct_texts(expected, seen))

    def check_one_of(self, what: str, seen: object, expected: Sequence[object]) -> None:
        """Compare a value with those that are right.  Raises Mismatch if it is none of them."""
        if seen not in expected:
            raise Mismatch(what, " or ".join(map(as_text, expected)), as_text(seen))

    def check_that(self, condition: bool, what: str, expected: str, seen: object) -> None:
        """Require a condition; ``expected`` says it in words.  Raises Mismatch if it does not hold."""
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
        """Note a deviation that is accepted: the pass is then not strict."""
        self.notes.append(note)

    def finish(self) -> None:
        """Check that nothing else was harmed; called once the case has passed."""


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
    """Two values that differ, as a report shows them; if their texts are equal, also from the first difference on."""
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

"""The verdicts on a case, and the exceptions with which a running case ends."""

from enum import StrEnum


class Verdict(StrEnum):
    """The outcome of one case in one protocol version."""

    PASS = "pass"
    """The target does what the case requires."""
    PASS_NONSTRICT = "pass-nonstrict"
    """It does something else that is tolerated, or fails a case that is only SHOULD or MAY."""
    FAIL = "fail"
    """It does not do what it MUST; or a known divergence was expected and did not show."""
    KNOWN_DIVERGENCE = "known-divergence"
    """It fails in the very way that is on record for this release."""
    UNSUPPORTED = "unsupported"
    """It lacks the feature that the case is about, as probing or the feature file says."""
    NOT_REACHED = "not-reached"
    """A case that this one depends on did not pass, or the run was interrupted before."""
    ERROR = "error"
    """The suite itself failed."""
    NOT_CHECKED = "not-checked"
    """The target, or a site of it, could not be had."""

    @property
    def fine(self) -> bool:
        """Whether a run with this verdict may still succeed."""
        return self not in (Verdict.FAIL, Verdict.NOT_REACHED, Verdict.ERROR, Verdict.NOT_CHECKED)

    @property
    def reached(self) -> bool:
        """Whether cases that depend on this one can be judged."""
        return self in (Verdict.PASS, Verdict.PASS_NONSTRICT, Verdict.KNOWN_DIVERGENCE)


class Mismatch(Exception):
    """The target did something else than the case requires.

    :param what: the thing that was compared, as "the reply to the add"
    :param expected: the right value, in words or bytes
    :param seen: the value that came
    """

    def __init__(self, what: str, expected: str, seen: str) -> None:
        super().__init__(f"{what}: expected {expected}, seen {seen}")
        self.what, self.expected, self.seen = what, expected, seen


class Unsupported(Exception):
    """The target turned out to lack the feature that the case is about; the text says how that showed."""


class NotReached(Exception):
    """Something that the case builds on is missing; the text names it."""


class Interrupted(Exception):
    """The run is being stopped."""

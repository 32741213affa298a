"""The sign, word and colour of each verdict, so that colour alone never tells verdicts apart."""

from collections.abc import Iterable

from attrs import frozen

from compat_tests.judge.verdict import Verdict


@frozen
class VerdictStyle:
    """How a verdict is shown."""

    sign: str
    word: str
    colour: str
    """For terminals; pages have their own."""
    sentence: str


STYLES = {
    Verdict.PASS: VerdictStyle("✓", "pass", "green", "does what the case requires"),
    Verdict.PASS_NONSTRICT: VerdictStyle(
        "≈", "non-strict", "yellow", "does something else that is tolerated, or fails a case that is SHOULD or MAY"
    ),
    Verdict.FAIL: VerdictStyle("✗", "FAIL", "bold red", "does not do what it MUST, or a known divergence did not show"),
    Verdict.KNOWN_DIVERGENCE: VerdictStyle(
        "◆", "known", "magenta", "fails in the way that is on record for this release"
    ),
    Verdict.UNSUPPORTED: VerdictStyle("○", "unsupported", "dim", "lacks the feature that the case is about"),
    Verdict.NOT_REACHED: VerdictStyle("↷", "not reached", "cyan", "a case that this one depends on did not pass"),
    Verdict.ERROR: VerdictStyle("!", "ERROR", "bold red reverse", "the suite itself failed"),
    Verdict.NOT_CHECKED: VerdictStyle("?", "not checked", "cyan", "the target could not be had"),
}
"""In the order in which tables show them."""

_WORST_FIRST = (
    Verdict.ERROR,
    Verdict.FAIL,
    Verdict.NOT_CHECKED,
    Verdict.NOT_REACHED,
    Verdict.KNOWN_DIVERGENCE,
    Verdict.PASS_NONSTRICT,
    Verdict.PASS,
    Verdict.UNSUPPORTED,
)


def badness(verdict: Verdict) -> int:
    """Return the rank of a verdict; those that need attention come first."""
    return _WORST_FIRST.index(verdict)


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the worst verdict on a case that was run more than once; None if there is none."""
    return min(verdicts, key=badness, default=None)

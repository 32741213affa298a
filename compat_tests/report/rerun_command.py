"""The command that runs one case of a run again."""

import shlex
from collections.abc import Iterator, Sequence

from compat_tests.judge.result import Run

_DROPPED = (
    *("--only", "--skip"),  # they give way to the one case
    *("--json", "--html", "--junit", "--badge", "--pcap", "--markdown"),  # nobody wants the reports overwritten
)
_END_OF_OPTIONS = "--"
"""What follows is the command of a driver."""


def again(run: Run, case: str) -> str:
    """Return the command, empty if the run does not say how it was made.

    With the seed, so that ids are the same; but at an address the bookie still has the ledgers of the run before.
    """
    words = shlex.split(run.command)
    if not words:
        return ""
    at = words.index(_END_OF_OPTIONS) if _END_OF_OPTIONS in words else len(words)
    kept = list(_kept(words[:at]))
    if not _names(kept, "--seed") and not _names(kept, "--address"):
        kept += ["--seed", str(run.seed)]
    return shlex.join([*kept, "--only", case, *words[at:]])


def _names(words: Sequence[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in words)


def _kept(words: Sequence[str]) -> Iterator[str]:
    left = iter(words)
    for word in left:
        if word in _DROPPED:
            next(left, "")
        elif word.partition("=")[0] not in _DROPPED:
            yield word

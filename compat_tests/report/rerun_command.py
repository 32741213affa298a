"""The command that runs one case of a run again."""

import shlex
from collections.abc import Iterator, Sequence

from compat_tests.judge.result import Run

_REPORTS = ("--json", "--html", "--junit", "--badge", "--pcap", "--markdown")
"""Options that write reports: a rerun must not overwrite them."""

_CHOICE = ("--only", "--skip")
"""Options that select cases: a rerun selects the one case instead."""

_END_OF_OPTIONS = "--"
"""The words after it are the command of a driver."""


def rerun_command(run: Run, case: str) -> str:
    """Return the command, empty if the run does not say how it was made.

    It has the seed of the run, so that ids are the same; but not for a bookie at an address, which still has the
    ledgers of that run.
    """
    words = shlex.split(run.command)
    if not words:
        return ""
    at = _end_of_options(words)
    kept = list(_without(words[:at], (*_CHOICE, *_REPORTS)))
    if not _names(kept, "--seed") and not _names(kept, "--address"):
        kept += ["--seed", str(run.seed)]
    return shlex.join([*kept, "--only", case, *words[at:]])


def without_reports(command: str) -> str:
    """Return the command of a run without the options that write reports."""
    words = shlex.split(command)
    at = _end_of_options(words)
    return shlex.join([*_without(words[:at], _REPORTS), *words[at:]])


def _end_of_options(words: Sequence[str]) -> int:
    return words.index(_END_OF_OPTIONS) if _END_OF_OPTIONS in words else len(words)


def _names(words: Sequence[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in words)


def _without(words: Sequence[str], dropped: Sequence[str]) -> Iterator[str]:
    left = iter(words)
    for word in left:
        if word in dropped:
            next(left, "")
        elif word.partition("=")[0] not in dropped:
            yield word

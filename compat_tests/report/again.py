"""The command that runs one case of a run again."""

import shlex

from compat_tests.judge.result import Run

_CHOOSING = ("--only", "--skip")
"""Options that choose cases: they give way to the one case."""


def again(run: Run, case: str) -> str:
    """Return the command, empty if the run does not say how it was made."""
    if not run.command:
        return ""
    words = iter(shlex.split(run.command))
    kept = []
    for word in words:
        if word in _CHOOSING:
            next(words, "")
        elif not word.startswith(tuple(f"{option}=" for option in _CHOOSING)):
            kept.append(word)
    return shlex.join([*kept, "--only", case])

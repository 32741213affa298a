"""Runs in files: the JSON form that all other reports are made of (docs/conformance/reports.md)."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from compat_tests.judge.result import Run
from compat_tests.report import published


class NotARun(ValueError):
    """A file is no run; the text names it and says why."""


def write_json(runs: Run | Sequence[Run], path: Path) -> None:
    """Write a run, or a list of runs."""
    data = runs.to_json() if isinstance(runs, Run) else [run.to_json() for run in runs]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_json(path: Path) -> list[Run]:
    """Read a run, a list of runs, or the published form of some; raises :class:`NotARun`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict) and published.MARK in data:
            return published.from_published(data)
        return [Run.from_json(each) for each in (data if isinstance(data, list) else [data])]
    except OSError as error:
        raise NotARun(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise NotARun(f"{path} is no run of this suite, as --json writes them: {error}") from error


def read_all(paths: Iterable[Path]) -> list[Run]:
    """Read the runs of several files, in this order; raises :class:`NotARun`."""
    return [run for path in paths for run in read_json(path)]

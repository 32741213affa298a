"""The progress of a long command, in one line of the terminal; nothing where standard error is no terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

INTERVAL_S: Final = 0.2
"""Between two looks at how far it is."""


@contextmanager
def progress(how_far: Callable[[], str]) -> Iterator[Callable[[], None]]:
    """Give a function to call as the work goes on; now and then it shows the result of ``how_far``."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda: None
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(how_far(), total=None)
        last_s = time.monotonic()

        def advance() -> None:
            nonlocal last_s
            if time.monotonic() - last_s >= INTERVAL_S:
                last_s = time.monotonic()
                shown.update(task, description=how_far())

        yield advance

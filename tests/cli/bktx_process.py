"""Run ``bktx`` as a user does: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import bookkeeper_tx

COMMAND = [sys.executable, "-c", "from bookkeeper_tx.cli.main import main; main()"]


def environment() -> dict[str, str]:
    """Return an environment in which this package is found, without the settings of the user that runs the tests."""
    root = str(Path(bookkeeper_tx.__file__).parent.parent)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("BKTX_")}
    return {**kept, "PYTHONPATH": root, "COLUMNS": "120"}


def bktx(
    *arguments: str, stdin: bytes = b"", timeout_s: float = 120, **variables: str
) -> "subprocess.CompletedProcess[bytes]":
    """Run ``bktx`` to its end, with any exit code."""
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, timeout=timeout_s, env=environment() | variables
    )


def start(*arguments: str) -> "subprocess.Popen[bytes]":
    """Start ``bktx`` and leave it running; the caller ends it."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )

"""The files of a killed bookie, and commands on them, in this process."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from bookkeeper_tx.cli.bookie.bookie import bookie
from bookkeeper_tx.cli.main import Session
from tests.bookie import golden_directory

LEDGERS = golden_directory.LEDGERS


def make(directory: Path) -> Path:
    """Write the files of a bookie that was killed, with entries in entry logs and entries in the journal only."""
    current = directory / "current"
    current.mkdir(parents=True)
    golden_directory.build(str(current))
    return directory


def run(*arguments: object, stdin: str = "") -> Result:
    """Run ``bktx bookie``; an error is in the result's ``exception``."""
    return CliRunner().invoke(bookie, [str(each) for each in arguments], input=stdin, obj=Session())


def objects(*arguments: object, exit_code: int = 0) -> list[dict[str, Any]]:
    """Return what ``bktx bookie … --json`` prints."""
    result = run(*arguments, "--json")
    assert result.exit_code == exit_code, (result.output, result.exception)
    return [json.loads(line) for line in result.stdout.splitlines()]


def files_of(directory: Path) -> dict[str, bytes]:
    return golden_directory.files_of(str(directory))

"""The common part of every command: finding it, help, and the display of errors."""

import subprocess
import sys

import click
import pytest

from bookkeeper_tx.cli import main
from bookkeeper_tx.errors import InvalidConfig, NoSuchLedger


@pytest.fixture
def failing(monkeypatch):
    """Make ``bktx demo`` raise the error of the test."""

    def fail_with(error):
        @click.command()
        def demo():
            raise error

        monkeypatch.setattr(main.Rooms, "get_command", lambda *_: demo)

    return fail_with


def test_help_lists_every_command_with_its_line(capsys):
    assert main.run_command(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name, (_, text) in main.COMMANDS.items():
        assert name in shown
        assert text in shown


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_has_help(name, capsys):
    assert main.run_command([name, "--help"]) == 0
    assert "Usage: bktx " + name in capsys.readouterr().out


def test_an_unknown_command_is_wrong_usage(capsys):
    assert main.run_command(["frobnicate"]) == 2
    assert "frobnicate" in capsys.readouterr().err


def test_an_error_is_one_line(failing, capsys):
    failing(NoSuchLedger("there is no\nledger 7"))
    assert main.run_command(["demo"]) == 1
    assert capsys.readouterr().err == "error: there is no ledger 7\n"


def test_an_error_of_the_operating_system_names_the_file(failing, capsys):
    failing(FileNotFoundError(2, "No such file or directory", "data"))
    assert main.run_command(["demo"]) == 1
    assert capsys.readouterr().err == "error: [Errno 2] No such file or directory: 'data'\n"


def test_an_unexpected_error_says_how_to_see_more(failing, capsys):
    failing(KeyError("surprise"))
    assert main.run_command(["demo"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("error: unexpected KeyError")
    assert "--debug" in shown
    assert "Traceback" not in shown


def test_debug_shows_the_traceback(failing, capsys):
    failing(InvalidConfig("wrong"))
    assert main.run_command(["--debug", "demo"]) == 1
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert shown.endswith("error: wrong\n")


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), click.Abort()])
def test_an_interruption_has_the_exit_code_of_one(failing, capsys, interruption):
    failing(interruption)
    assert main.run_command(["demo"]) == main.INTERRUPTED_EXIT_CODE
    assert "Traceback" not in capsys.readouterr().err


def test_help_starts_quickly_without_twisted():
    source = (
        "import sys; from bookkeeper_tx.cli import main; main.run_command(['--help']); "
        "assert 'twisted' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, timeout=60)

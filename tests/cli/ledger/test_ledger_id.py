"""The options by which commands name a ledger."""

import click
import pytest
from click.testing import CliRunner

from bookkeeper_tx.cli.connect import config_for
from bookkeeper_tx.cli.ledger import ledger_id as which
from bookkeeper_tx.cli.main import bktx
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.model import LedgerId

NAME = "0123456789abcdeffedcba9876543210"


def run(decorator, *arguments):
    """Run a command with these arguments; return the values it got, or the text of the error."""
    got = []

    @click.command()
    @decorator
    def command(**arguments):
        got.append(arguments)

    result = CliRunner().invoke(command, arguments)
    return got[0] if result.exit_code == 0 else result.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["7"], 7),
        (["7", "--ledger-scope-id", "0"], 7),
        (["7", "--ledger-scope-id", "-3"], LedgerId(7, -3)),
        (["--ledger-scope-id", "3", "--", "-7"], LedgerId(-7, 3)),
        ([NAME], LedgerId.of_name(NAME)),
        (["--ledger-qualified-name", NAME], LedgerId.of_name(NAME)),
        (["--ledger-qualified-name", "ff"], 255),
        (["--ledger-qualified-name", "10000000000000001"], LedgerId(1, 1)),
    ],
)
def test_one_ledger(arguments, expected):
    assert run(which.ledger, *arguments) == {"ledger_id": expected}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "say which ledger"),
        (["7", "--ledger-qualified-name", NAME], "say which ledger"),
        (["seven"], "neither a number"),
        (["--", "-1"], "is no ledger id"),
        ([str(2**63)], "is no ledger id"),
        ([NAME.replace("0", "x")], "no qualified ledger name"),
        (["--ledger-qualified-name", "xyz"], "no qualified ledger name"),
        (["--ledger-qualified-name", ""], "no qualified ledger name"),
        (["--ledger-qualified-name", NAME, "--ledger-scope-id", "3"], "leave --ledger-scope-id out"),
        ([NAME, "--ledger-scope-id", "3"], "leave --ledger-scope-id out"),
        (["7", "--ledger-scope-id", str(2**63)], "64 bits"),
    ],
)
def test_what_names_no_ledger(arguments, reason):
    assert reason in run(which.ledger, *arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], None),
        (["--ledger-id", "7"], 7),
        (["--ledger-id", "-7", "--ledger-scope-id", "3"], LedgerId(-7, 3)),
        (["--ledger-id", NAME], LedgerId.of_name(NAME)),
        (["--ledger-qualified-name", "10000000000000007"], LedgerId(7, 1)),
    ],
)
def test_a_command_that_may_be_limited_to_a_ledger(arguments, expected):
    assert run(which.only_ledger("Only this one."), *arguments) == {"ledger_id": expected}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--ledger-scope-id", "3"], "give --ledger-id, too"),
        (["--ledger-id", "7", "--ledger-qualified-name", NAME], "not both"),
        (["--ledger-scope-id", "3", "--ledger-qualified-name", NAME], "leave --ledger-scope-id out"),
        (["--ledger-id", "seven"], "neither a number"),
    ],
)
def test_what_limits_to_no_ledger(arguments, reason):
    assert reason in run(which.only_ledger("Only this one."), *arguments)


def commands(command, path=""):
    """Give each command of a program with its path."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), f"{path} {name}".strip())
    else:
        yield path, command


NAMES_A_LEDGER = {"LEDGER_ID", "[LEDGER_ID]…", "IDS"}
"""The metavars of parameters that name ledgers; ``--ledger-id`` does, too."""


def test_every_command_that_names_a_ledger_takes_its_scope():
    pytest.importorskip("pyspark")
    found = {
        path: any("--ledger-scope-id" in each.opts for each in command.params)
        for path, command in commands(bktx)
        if any(each.metavar in NAMES_A_LEDGER or "--ledger-id" in each.opts for each in command.params)
    }
    assert {path for path, takes in found.items() if not takes} == set()
    assert {"ledger read", "bookie index", "bookie journal", "bookie entrylog", "spark export"} <= set(found)


def test_several_ledgers():
    assert run(which.ledgers, "7", "8") == {"ledger_ids": (7, 8)}
    assert run(which.ledgers, "7", "--ledger-qualified-name", "ff") == {"ledger_ids": (7, 255)}
    assert run(which.ledgers, "7", "8", "--ledger-scope-id", "3") == {"ledger_ids": (LedgerId(7, 3), LedgerId(8, 3))}
    assert "say which ledgers" in run(which.ledgers)


@pytest.mark.parametrize(
    "named", [["--ledger-qualified-name", "7"], ["7", "--ledger-qualified-name", "ff"], ["0" * 31 + "7"]]
)
def test_a_name_is_put_into_no_other_scope(named):
    assert "names the scope already" in run(which.ledgers, *named, "--ledger-scope-id", "3")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"scope_id": 0}),
        (["--ledger-id", "7"], {"ledger_id": 7, "scope_id": 0}),
        (["--ledger-scope-id", "3"], {"scope_id": 3}),
        (["--ledger-id", "-7", "--ledger-scope-id", "3"], {"ledger_id": LedgerId(-7, 3), "scope_id": 0}),
        (["--ledger-qualified-name", NAME], {"ledger_id": LedgerId.of_name(NAME), "scope_id": 0}),
    ],
)
def test_a_new_ledger(arguments, expected):
    assert run(which.new_ledger, *arguments) == {"wanted": expected}


def test_a_new_ledger_with_a_random_id():
    ids = {run(which.new_ledger, "--random-id")["wanted"]["ledger_id"] for _ in range(10)}
    assert len({each.scope_id for each in ids} - {0}) == 10


@pytest.mark.parametrize(
    "arguments",
    [
        ["--random-id", "--ledger-id", "7"],
        ["--random-id", "--ledger-scope-id", "7"],
        ["--random-id", "--ledger-qualified-name", NAME],
        ["--ledger-id", "7", "--ledger-qualified-name", NAME],
        ["--ledger-scope-id", "7", "--ledger-qualified-name", NAME],
    ],
)
def test_contradictory_wishes_for_a_new_ledger(arguments):
    assert "Error: " in run(which.new_ledger, *arguments)


def test_scoped_ledgers_are_spoken_of_in_v3():
    assert config_for(None, 7).protocol is WireProtocol.V2
    assert config_for(None, LedgerId(7, 3)).protocol is WireProtocol.V3
    assert config_for(None, scope_id=3).protocol is WireProtocol.V3
    assert config_for(WireProtocol.V3, 7).protocol is WireProtocol.V3
    assert config_for(WireProtocol.V2, LedgerId(7, 3)).protocol is WireProtocol.V2  # and the client will refuse it

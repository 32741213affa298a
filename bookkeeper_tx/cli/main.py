"""``bktx``, the command line of bookkeeper_tx: the list of its commands, and the display of their errors."""

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Final

import click
from attrs import define

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.testing.local_cluster import BookieFailed

INTERRUPTED_EXIT_CODE = 130
"""The exit code by which shells know that Ctrl-C ended a program: 128 + SIGINT."""

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "demo": ("demo.demo", "Store a file in a replicated ledger, kill a bookie, read it all back."),
    "ledger": ("ledger.ledger", "Create, write, read, list, show and delete ledgers."),
    "log": ("log.log", "Create, append to, read, truncate, list and delete replicated logs."),
    "bookie": ("bookie.bookie", "Look at bookies and their files; check and repair them."),
    "cluster": ("cluster", "Set up a cluster's metadata."),
    "wire": ("wire.wire", "Show what bytes of BookKeeper traffic say, and how they are laid out."),
    "bench": ("bench.bench", "Measure adds and reads: rates, latencies, CPU per entry."),
    "spark": ("spark", "Jobs on Spark: export, import, copy, scrub, stats and more."),
}
"""Command → the module it lives in and its one line of help, so that only the command that runs is imported."""


@define
class Session:
    """The options of one run of ``bktx`` that stand before its command."""

    debug: bool = False
    """Whether errors show a traceback."""
    client_config: str | None = None
    """A file with Java's client keys."""


class Rooms(click.Group):
    """Imports a command only when it is run, so that start-up is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        room = importlib.import_module(f"bookkeeper_tx.cli.{COMMANDS[cmd_name][0]}")
        command = getattr(room, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(cls=Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bookkeeper_tx", prog_name="bktx")
@click.option("--debug", is_flag=True, envvar="BKTX_DEBUG", help="Show a traceback when a command fails.")
@click.option(
    "--client-config",
    type=click.Path(exists=True, dir_okay=False),
    envvar="BKTX_CLIENT_CONFIG",
    show_envvar=True,
    metavar="FILE",
    help="Settings in Java's client keys: TLS, SASL, time-outs.",
)
@click.pass_obj
def bktx(session: Session, debug: bool, client_config: str | None) -> None:
    """Apache BookKeeper from the command line.

    \b
    Try it out:           bktx demo
    A cluster of yours:   bktx cluster init --metadata sqlite:///tmp/cluster.db
                          twistd -n --pidfile= bookie --metadata sqlite:///tmp/cluster.db --data /tmp/bookie --port 3181
                          bktx ledger write --metadata sqlite:///tmp/cluster.db --replicas 1 < README.md
    """
    session.debug = debug
    session.client_config = client_config


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``bktx`` and exit: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    sys.exit(run_command(sys.argv[1:] if arguments is None else arguments))


def run_command(arguments: Sequence[str]) -> int:
    """Run ``bktx`` with ``arguments``, show an error in one line, and return the exit code."""
    session = Session()
    try:
        exit_code = bktx.main(args=list(arguments), prog_name="bktx", standalone_mode=False, obj=session)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED_EXIT_CODE
    except BrokenPipeError:
        _forget_stdout()
        return 1
    except Exception as error:
        if session.debug:
            traceback.print_exc()
        click.echo(f"error: {describe(error)}", err=True)
        return 1
    return exit_code if isinstance(exit_code, int) else 0


def describe(error: Exception) -> str:
    """Return ``error`` as one line for a user."""
    if isinstance(error, (BookKeeperError, OSError)):
        text = str(error)
    elif isinstance(error, BookieFailed):
        text = " … ".join(str(error).splitlines()[:: max(1, str(error).count("\n"))])  # error, end of log
    else:
        text = f"unexpected {type(error).__name__}: {error} (bktx --debug … shows where)"
    return " ".join(text.split())


def _forget_stdout() -> None:
    """Prevent an error at exit about a closed pipe, as in ``bktx ledger read 5 | head``."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

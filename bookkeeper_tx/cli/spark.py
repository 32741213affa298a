"""``bktx spark``: jobs on Spark for operators (docs/guides/spark-jobs.md)."""

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import click

from bookkeeper_tx.cli.main import Session

JOBS: Final[dict[str, tuple[str, str]]] = {
    "export": ("export_ledgers", "Ledgers to Parquet or any other format; counts are proven."),
    "import": ("import_files", "Any DataFrame with a column payload to ledgers of a sink."),
    "copy": ("copy_ledgers", "Ledgers of one cluster to another, compared entry by entry."),
    "scrub": ("scrub_replicas", "Every replica of every entry compared: damage is exit code 1."),
    "stats": ("cluster_stats", "Ledgers by state and size, and how evenly bookies share them."),
    "entrylog": ("entry_logs", "Garbage, orphans and torn places in entry logs on disk."),
    "sweep": ("sweep_sinks", "Deletes what sinks wrote and never published."),
    "conformance": ("conformance_runs", "Runs of the conformance suite beside each other."),
}
"""Job → its file in bookkeeper_tx/spark/jobs, and its one line of help."""


class Jobs(click.Group):
    """Imports a job only when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(JOBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in JOBS:
            return None
        try:
            job = importlib.import_module(f"bookkeeper_tx.spark.jobs.{JOBS[cmd_name][0]}")
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] not in ("pyspark", "pyarrow", "numpy"):
                raise
            raise click.UsageError(f"{error.name} is not installed: pip install 'bookkeeper_tx[spark]'") from None
        command = job.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Jobs"):
            formatter.write_dl([(name, text) for name, (_, text) in JOBS.items()])


def _pairs(_context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise click.BadParameter(f"{text!r} is not KEY=VALUE", param=parameter)
    return dict(text.split("=", 1) for text in texts)


@click.group(cls=Jobs)
@click.option("--master", default="local[2]", show_default=True, help="Where the job runs, as Spark calls it.")
@click.option("--remote", metavar="URL", help="A Spark Connect server (sc://HOST:15002) in place of --master.")
@click.option(
    "--conf", "settings", multiple=True, metavar="KEY=VALUE", callback=_pairs, help="A setting of Spark; several times."
)
@click.pass_context
def spark(context: click.Context, master: str, remote: str | None, settings: dict[str, str]) -> None:
    """Jobs on Spark: export, audit and copy what clusters hold.

    They run on this machine unless --master or --remote says otherwise; spark-submit takes the same files.  The exit
    code is 0 if all is well, 1 if damage or a difference was found, 2 for wrong usage, 3 if it could not be done.
    """
    from bookkeeper_tx.spark.jobs.launch import Launch

    found = context.find_object(Session)
    debug = found is not None and found.debug
    client_config = None if found is None else found.client_config
    context.obj = Launch(lambda: _session(master, remote, settings, debug), debug, client_config)


def _session(master: str, remote: str | None, settings: Mapping[str, str], debug: bool) -> Any:
    from bookkeeper_tx.spark.jobs.sessions import start_session

    with _nothing_on_stderr(not debug):
        return start_session(master, remote, settings)


@contextmanager
def _nothing_on_stderr(quiet: bool) -> Iterator[None]:
    """Silence processes started in the block: the stacks of the JVM and its Python workers say less than our line."""
    if not quiet:
        yield
        return
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)

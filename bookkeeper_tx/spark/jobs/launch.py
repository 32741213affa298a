"""Running a job from a command line: its session, its errors and its exit code."""

import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import click
from attrs import frozen

from bookkeeper_tx.errors import InvalidArgument, InvalidConfig
from bookkeeper_tx.spark.jobs.failure import one_line
from bookkeeper_tx.spark.jobs.running_tasks import running_tasks
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary, show

Settings = TypeVar("Settings")


def submitted_session() -> Any:
    """Return the session that spark-submit or the caller has set up, and register the formats in it."""
    from pyspark.sql import SparkSession

    from bookkeeper_tx.spark.session import register_all

    session = SparkSession.builder.getOrCreate()
    register_all(session)
    return session


@frozen
class Launch:
    """How jobs get their session and show errors."""

    session: Callable[[], Any] = submitted_session
    debug: bool = False
    """Whether errors show a traceback."""
    client_config: str | None = None
    """The file of ``bktx --client-config``, if it was given."""


def launch(run: Callable[[Any, Settings, Progress], Summary], settings: Settings, *, in_session: bool = True) -> None:
    """Run a job, show its summary, and end the command with its exit code.

    A job that does not need a session gets none.  An error of ours that Spark has wrapped into its own does not count
    as wrong usage: wrong options that only a table finds end with FAILED.
    """
    context = click.get_current_context()
    how = context.find_object(Launch) or Launch()
    progress = Progress()
    try:
        if in_session:
            progress.say("waiting for a Spark session")
        session = how.session() if in_session else None
        if session is not None:
            progress.watch(running_tasks(session))
        summary = run(session, settings, progress)
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        if how.debug:
            traceback.print_exc()
        usage = isinstance(error, InvalidConfig | InvalidArgument)
        click.echo(f"error: {one_line(error)}", err=True)
        context.exit(ExitCode.USAGE if usage else ExitCode.FAILED)
    show(summary)
    context.exit(summary.exit_code)


def run_alone(command: click.Command, arguments: list[str] | None) -> None:
    """Run the command of a job as a program of its own, as spark-submit does."""
    command.main(args=sys.argv[1:] if arguments is None else arguments, standalone_mode=True)

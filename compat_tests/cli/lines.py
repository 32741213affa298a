"""A run as plain lines."""

import click
from attrs import frozen

from compat_tests.judge.result import Result, Run
from compat_tests.judge.verdict import Verdict


@frozen
class Lines:
    """A line for each result that is not plainly fine; for each, if verbose."""

    verbose: bool = False

    def begin(self, run: Run, total: int) -> None:
        click.echo(f"{run.target.name}, {run.target.how}; seed {run.seed}; {total} to try")

    def result(self, result: Result) -> None:
        if self.verbose or not result.verdict.fine:
            click.echo(
                f"{result.verdict:<16} {result.case} {result.dialect} {result.duration_s:.2f} s {result.message}"
            )

    def end(self, run: Run) -> None:
        counts = ", ".join(f"{run.counts[verdict]} {verdict}" for verdict in Verdict if run.counts[verdict])
        click.echo(f"{run.target.name}: {counts or run.not_checked} in {run.duration_s:.1f} s")

"""``bktx demo``: a cluster of real processes, a real file, a bookie killed in the middle."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from attrs import define, field
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from twisted.internet.threads import deferToThread

from bookkeeper_tx.cli.connect import connected
from bookkeeper_tx.cli.demo import steps
from bookkeeper_tx.cli.demo.report import show_summary
from bookkeeper_tx.cli.demo.sample_file import write_sample
from bookkeeper_tx.cli.demo.steps import DemoFailed, Pace, Stored
from bookkeeper_tx.cli.lines import count_lines
from bookkeeper_tx.cli.run import everything_stopped_on_signals, run
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import BookieId, LedgerMetadata
from bookkeeper_tx.testing.local_cluster import LocalCluster

BOOKIE_COUNT = 4
"""One more than the ensemble: a spare for the one that is killed."""

LINES_MIN = 100
"""Fewer lines would have no middle in which a bookie could be killed."""


@click.command()
@click.option(
    "--file",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What to store; default: some 25 MB of the standard library's sources.",
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="A new or empty directory for the cluster, which is kept; default: a temporary one.",
)
def demo(path: Path | None, directory: Path | None) -> None:
    """Store a file in a replicated ledger, kill a bookie in the middle, read everything back and compare.

    Starts four bookies (twistd bookie) on 127.0.0.1 and stops them when done; takes less than a minute.

    \b
    bktx demo
    bktx demo --file /var/log/dpkg.log --directory /tmp/demo
    """
    if directory is not None and directory.exists() and any(directory.iterdir()):
        raise InvalidArgument(f"{directory} is not empty: give a new directory")
    with everything_stopped_on_signals(), tempfile.TemporaryDirectory(prefix="bktx-demo-") as temporary:
        if path is None:
            path = Path(temporary, "sample")
            files = write_sample(path)
            origin = f"{files:,} source files of the standard library"
        elif not path.is_file():
            raise InvalidArgument(f"{path} is no regular file, and is read more than once: give one that is")
        else:
            origin = str(path)
        with path.open("rb") as file:
            count = count_lines(file)
        if count < LINES_MIN:
            raise InvalidArgument(f"{path} has {count} lines: give a file of at least {LINES_MIN}")
        Demo(path, origin, count, directory or Path(temporary, "cluster")).run()


@define
class Demo:
    """One run of the demo."""

    path: Path
    origin: str
    count: int
    """Lines of the file."""
    directory: Path
    console: Console = field(factory=lambda: Console(highlight=False))
    paces: dict[str, Pace] = field(factory=dict)

    def run(self) -> None:
        """Run all steps; stop every bookie, after an error too."""
        started = time.monotonic()
        self._say(f"file: [bold]{self.origin}[/], {self.path.stat().st_size / 1e6:,.1f} MB, {self.count:,} lines")
        cluster = LocalCluster(self.directory, BOOKIE_COUNT)
        try:
            with self.console.status(f"starting {BOOKIE_COUNT} bookies"):
                cluster.start()
            self._say(f"bookies: {', '.join(cluster.bookie_ids)}")
            stored, metadata, killed = run(lambda reactor: self._steps(reactor, cluster))
        except BaseException:
            cluster.kill_all()
            raise
        finally:
            with self.console.status("stopping the bookies"):
                cluster.stop()
        show_summary(self.console, stored.ledger_id, metadata, killed, self.paces, time.monotonic() - started)

    async def _steps(self, reactor: Any, cluster: LocalCluster) -> tuple[Stored, LedgerMetadata, BookieId]:
        stored, killed = await self._store(reactor, cluster)
        metadata = await self._read_back(reactor, cluster, stored)
        await self._read_from_old_bookie(reactor, cluster, stored, killed)
        return stored, metadata, killed

    async def _store(self, reactor: Any, cluster: LocalCluster) -> tuple[Stored, BookieId]:
        async with connected(reactor, cluster.metadata_uri) as client:
            writer = await client.create_ledger(steps.ENSEMBLE_SIZE, steps.WRITE_QUORUM_SIZE, steps.ACK_QUORUM_SIZE)
            killed = writer.metadata.last_fragment.ensemble[0]
            with self._progress("writing") as advance:

                def kill() -> None:
                    cluster.kill(cluster.index_of(killed))
                    self._say(f"[red]killed bookie {killed}[/] (SIGKILL) in the middle; writing goes on")

                stored = await steps.store_file(writer, self.path, self.count, reactor, advance, kill)
        self.paces["written, 3 copies"] = stored.pace
        self._say(f"closed ledger {stored.ledger_id}: {stored.pace.entries:,} entries, one a line")
        return stored, killed

    async def _read_back(self, reactor: Any, cluster: LocalCluster, stored: Stored) -> LedgerMetadata:
        async with connected(reactor, cluster.metadata_uri) as client:
            reader = await client.open_ledger(stored.ledger_id)
            for name, batch in (("single reads", False), ("batch reads", True)):
                with self._progress(f"reading by {name}") as advance:
                    pace = await steps.read_back(reader, self.path, self.count, batch, advance)
                if pace.sha256 != stored.pace.sha256:
                    raise DemoFailed(f"sha256 by {name} is {pace.sha256}, of the file {stored.pace.sha256}")
                self.paces[f"read by {name}"] = pace
            self._say("read it back twice: every byte is the same")
            return reader.metadata

    async def _read_from_old_bookie(
        self, reactor: Any, cluster: LocalCluster, stored: Stored, killed: BookieId
    ) -> None:
        index = cluster.index_of(killed)
        with self.console.status(f"restarting bookie {killed} as one of release 4.16"):
            await deferToThread(cluster.restart, index, "4.16")
        for other in range(BOOKIE_COUNT):
            if other != index:
                cluster.kill(other)
        self._say(f"restarted bookie {killed} with --wire-compat 4.16, then killed the other three")
        count = max(1, stored.settled // 2)
        with self._progress("reading from it alone", count) as advance:
            pace = await steps.read_from_old_bookie(
                reactor, cluster.metadata_uri, stored.ledger_id, self.path, count, advance
            )
        self._say('it says "no batch read" and the client falls back to single reads: the same bytes')
        self.paces["read by fallback, 4.16"] = pace

    def _say(self, text: str) -> None:
        self.console.print(f"[green]•[/] {text}", soft_wrap=True)

    @contextmanager
    def _progress(self, what: str, count: int | None = None) -> Iterator[Any]:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(
            *columns, TimeElapsedColumn(), console=self.console, transient=True, disable=not self.console.is_terminal
        ) as progress:
            task = progress.add_task(what, total=self.count if count is None else count)
            yield lambda entries: progress.update(task, advance=entries)

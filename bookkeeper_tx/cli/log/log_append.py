"""``bktx log append``: lines of standard input become records of a log, whose positions are printed."""

import sys
from typing import Any, BinaryIO

import click
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.connect import connected
from bookkeeper_tx.cli.lines import lines_as_they_come
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.driver import pause
from bookkeeper_tx.errors import LogFenced, MetadataUnavailable, NoSuchLedger, NoSuchLog
from bookkeeper_tx.model import LedgerState
from bookkeeper_tx.replicated_log import DLSN, LogWriter, Namespace
from bookkeeper_tx.replicated_log.rolling import RollingPolicy

FENCED_EXIT_CODE = 3
"""The exit code when another writer has taken the log."""

OUTSTANDING_MAX = 5000
"""Lines that are on their way; more wait to be read."""

LOOK_INTERVAL_S = 1.0
"""How often to look whether another writer has taken the log, while nothing is appended."""


@click.command()
@options.metadata
@options.password
@click.argument("name")
@click.option(
    "--roll-size",
    "roll_size_bytes",
    type=click.IntRange(1),
    default=int(RollingPolicy().size_bytes_max),
    show_default=True,
    metavar="BYTES",
    help="Go on in another ledger after so many bytes.",
)
@click.option(
    "--roll-interval",
    "roll_interval_s",
    type=click.FloatRange(0, min_open=True),
    default=RollingPolicy().interval_s,
    show_default=True,
    metavar="SECONDS",
    help="Go on in another ledger after so long.",
)
@click.option("--file", type=click.File("rb"), default="-", help="What to append; default: standard input.")
def append(
    metadata_uri: str, password: bytes, name: str, roll_size_bytes: int, roll_interval_s: float, file: BinaryIO
) -> None:
    """Append lines to a log; print the position of each as soon as it is stored.

    Whoever appended to the log before is fenced first.  When somebody else takes the log, this ends with exit code 3:
    lines whose positions were printed are in the log, the next ones may be or not.

    \b
    seq 1000 | bktx log append orders
    """

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri) as client:
            opened = Namespace(client, password).open_log_writer(
                name, roll_size_bytes=roll_size_bytes, roll_interval_s=roll_interval_s
            )
            await Appending(reactor, client, await opened).run(file)

    try:
        run(operation)
    except LogFenced:
        text = f"another writer has taken log {name}; lines without a printed position may be in it or not"
        click.echo(f"error: {text}", err=True)
        raise click.exceptions.Exit(FENCED_EXIT_CODE) from None


class Appending:
    """Appends lines to a log, until they end or something fails."""

    def __init__(self, reactor: Any, client: BookKeeper, writer: LogWriter) -> None:
        self._reactor = reactor
        self._client = client
        self._writer = writer
        self._outstanding = 0
        self._error: BaseException | None = None
        self._running: Deferred[None] | None = None
        self._room: Deferred[None] | None = None

    async def run(self, file: BinaryIO) -> None:
        """Append the lines of ``file``; raises the first error."""
        self._running = running = Deferred.fromCoroutine(self._append_all(file))
        watching = Deferred.fromCoroutine(self._watch()).addErrback(self._failed)
        try:
            await running
        except CancelledError:
            if self._error is None:
                await self._writer.close()
                raise
            raise self._error from None
        finally:
            watching.cancel()
        await self._writer.close()

    async def _append_all(self, file: BinaryIO) -> None:
        async for lines in lines_as_they_come(self._reactor, file):
            for line in lines:
                self._outstanding += 1
                self._writer.write(line.removesuffix(b"\n")).addCallback(self._stored).addErrback(self._failed)
                if self._outstanding >= OUTSTANDING_MAX:
                    await self._fewer(OUTSTANDING_MAX // 2)
        await self._fewer(1)

    async def _fewer(self, count: int) -> None:
        """Return when fewer than ``count`` lines are on their way."""
        while self._outstanding >= count:
            self._room = Deferred()
            await self._room

    def _stored(self, position: DLSN) -> None:
        self._outstanding -= 1
        sys.stdout.write(f"{position}\n")
        sys.stdout.flush()
        room, self._room = self._room, None
        if room is not None:
            room.callback(None)

    def _failed(self, failure: Failure) -> None:
        """End with the first error; those of later lines follow from it."""
        if self._error is None and self._running is not None and not self._running.called:
            self._error = failure.value
            self._reactor.callLater(0, self._running.cancel)  # which may be what runs now

    async def _watch(self) -> None:
        """Raise LogFenced when another writer has taken the log, NoSuchLog when it was deleted."""
        while True:
            await pause(self._client.driver, LOOK_INTERVAL_S)
            try:
                taken = await self._is_taken()
            except MetadataUnavailable:
                continue  # the next look may tell
            if taken:
                raise LogFenced(f"log {self._writer.name}: another writer has taken it")

    async def _is_taken(self) -> bool:
        ledger_id, name = self._writer.ledger_id, self._writer.name
        try:
            is_open = (await self._client.ledger_metadata(ledger_id)).state is LedgerState.OPEN
        except NoSuchLedger:
            is_open = False
        if is_open or ledger_id != self._writer.ledger_id:
            return False
        # Whoever deletes the log fences it first, and then marks it.
        await pause(self._client.driver, LOOK_INTERVAL_S)
        try:
            deleted = (await Namespace(self._client).log_state(name)).deleting
        except NoSuchLog:
            deleted = True
        if deleted:
            raise NoSuchLog(f"log {name} was deleted")
        return True

"""``bktx log append``: lines of standard input become records of a log, whose positions are printed."""

import sys
from contextlib import AsyncExitStack
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
from bookkeeper_tx.replicated_log import DLSN, Leadership, LogWriter, Namespace
from bookkeeper_tx.replicated_log.election_record import LEASE_S, LEASE_S_MAX, LEASE_S_MIN
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
@click.option("--stand-by", is_flag=True, help="Wait until no other command that stands by leads.")
@click.option(
    "--lease",
    "lease_s",
    type=click.FloatRange(LEASE_S_MIN, LEASE_S_MAX),
    metavar="SECONDS",
    help=f"With --stand-by: how soon another takes the place of this one when it is killed.  [default: {LEASE_S:g}]",
)
@click.option("--file", type=click.File("rb"), default="-", help="What to append; default: standard input.")
def append(
    metadata_uri: str,
    password: bytes,
    name: str,
    roll_size_bytes: int,
    roll_interval_s: float,
    stand_by: bool,
    lease_s: float | None,
    file: BinaryIO,
) -> None:
    """Append lines to a log; print the position of each as soon as it is stored.

    Whoever appended to the log before is fenced first.  When somebody else takes the log, this ends with exit code 3:
    lines whose positions were printed are in the log, the next ones may be or not.

    Of several commands with --stand-by one appends; when it ends or is killed, another goes on.  One that leads no
    longer, since it was asleep or the store was away for longer than the lease, ends with exit code 3 too.

    \b
    seq 1000 | bktx log append orders
    """
    if lease_s is not None and not stand_by:
        raise click.UsageError("--lease is for --stand-by")

    async def operation(reactor: Any) -> None:
        async with connected(reactor, metadata_uri) as client, AsyncExitStack() as leading:
            logs = Namespace(client, password)
            how: dict[str, Any] = {"roll_size_bytes": roll_size_bytes, "roll_interval_s": roll_interval_s}
            leadership = None
            if stand_by:
                leadership = await leading.enter_async_context(await _stand_by(logs, name, lease_s or LEASE_S))
                how["still_leads"] = leadership.leads
            try:
                writer = await logs.open_log_writer(name, **how)
            except LogFenced as error:
                if leadership is None or leadership.leads():
                    raise
                raise LeadLost(str(error)) from error
            await Appending(reactor, client, writer, leadership).run(file)

    try:
        run(operation)
    except LogFenced as error:
        why = "this command leads no longer" if isinstance(error, LeadLost) else f"another writer has taken log {name}"
        click.echo(f"error: {why}; lines without a printed position may be in it or not", err=True)
        raise click.exceptions.Exit(FENCED_EXIT_CODE) from None


async def _stand_by(logs: Namespace, name: str, lease_s: float) -> Leadership:
    """Wait until this command leads, and say so if that may take a while."""
    leader = await logs.leader(name)
    if leader is not None:
        click.echo(f"standing by: {leader} leads", err=True)
    return await logs.campaign(name, lease_s=lease_s)


class LeadLost(LogFenced):
    """This command leads no longer."""


class Appending:
    """Appends lines to a log, until they end or something fails, or the lead is lost."""

    def __init__(self, reactor: Any, client: BookKeeper, writer: LogWriter, leadership: Leadership | None) -> None:
        self._reactor = reactor
        self._client = client
        self._writer = writer
        self._leadership = leadership
        self._outstanding = 0
        self._error: BaseException | None = None
        self._running: Deferred[None] | None = None
        self._room: Deferred[None] | None = None

    async def run(self, file: BinaryIO) -> None:
        """Append the lines of ``file``; raises the first error."""
        self._running = running = Deferred.fromCoroutine(self._append_all(file))
        watching = [Deferred.fromCoroutine(self._watch()).addErrback(self._failed)]
        if self._leadership is not None:
            watching.append(self._leadership.until_lost().addCallback(self._lead_lost).addErrback(self._failed))
        try:
            await running
        except CancelledError:
            if self._error is None:
                await self._writer.close()
                raise
            raise self._error from None
        finally:
            for each in watching:
                each.cancel()
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

    def _lead_lost(self, _: None) -> None:
        raise LeadLost(f"log {self._writer.name}: this command leads no longer")

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

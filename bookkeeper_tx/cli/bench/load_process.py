"""A process that makes load with one client: requests on standard input, replies on standard output (load_lines.py).

The CPU of the client is the CPU of this process, so it does nothing else while a workload runs.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from attrs import define, field

from bookkeeper_tx.cli.bench import workloads
from bookkeeper_tx.cli.bench.aio_window import ON_ASYNCIO
from bookkeeper_tx.cli.bench.load_lines import numbers, parse, render
from bookkeeper_tx.cli.bench.payloads import payloads_of
from bookkeeper_tx.cli.bench.window import ON_TWISTED, Latencies, Loop
from bookkeeper_tx.cli.bench.workloads import Worked
from bookkeeper_tx.cli.main import describe
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.model import DigestType

TWISTED = "twisted"

METADATA_REQUESTS_IN_FLIGHT = 16
MICROSECONDS = 1e6

Values = dict[str, str]
Reply = dict[str, Any]


@define
class Load:
    """The client of this process and its ledgers; each public method is a verb."""

    client: Any
    """Of any face."""
    _loop: Loop = ON_TWISTED
    """The loop that makes the load, of the client's face."""
    payloads: Sequence[bytes] = ()
    writers: list[LedgerWriter] = field(factory=list)
    readers: list[LedgerReader] = field(factory=list)
    _latencies: Latencies = field(factory=lambda: Latencies([], 0.0))

    async def ready(self, values: Values) -> Reply:
        """Make the payloads that are written, and measure what the loop costs by itself."""
        self.payloads = payloads_of(numbers(values["lengths"]))
        return {"loop_us": round(await self._loop.cost_us(), 3)}

    async def create(self, values: Values) -> Reply:
        """Create the ledgers that are written to next."""
        e, qw, qa = (int(values[name]) for name in ("ensemble", "write_quorum", "ack_quorum"))
        created: list[LedgerWriter] = []
        operations = (self.client.create_ledger(e, qw, qa, DigestType.CRC32C) for _ in range(int(values["ledgers"])))
        await self._loop.windowed(operations, METADATA_REQUESTS_IN_FLIGHT, created.append)
        self.writers = created
        return {}

    async def open(self, values: Values) -> Reply:
        """Close the ledgers written to, and open them for reading."""
        ids = [writer.ledger_id for writer in self.writers]
        await self._close_writers()
        opened: dict[int, LedgerReader] = {}

        def took(reader: LedgerReader) -> None:
            opened[reader.ledger_id] = reader

        await self._loop.windowed(map(self.client.open_ledger, ids), METADATA_REQUESTS_IN_FLIGHT, took)
        self.readers = [opened[each] for each in ids]
        return {}

    async def close(self, values: Values) -> Reply:
        """Close all ledgers."""
        await self._close_writers()
        for reader in self.readers:
            reader.close()
        self.readers = []
        return {}

    async def adds(self, values: Values) -> Reply:
        return self._worked(
            await workloads.adds(self.writers, self.payloads, int(values["entries"]), int(values["window"]), self._loop)
        )

    async def bulk_adds(self, values: Values) -> Reply:
        return self._worked(await workloads.bulk_adds(self.writers, self.payloads, int(values["entries"]), self._loop))

    async def single_reads(self, values: Values) -> Reply:
        return self._worked(
            await workloads.single_reads(self.readers, int(values["entries"]), int(values["window"]), self._loop)
        )

    async def range_of_single_reads(self, values: Values) -> Reply:
        return self._worked(await workloads.range_of_single_reads(self.readers, int(values["entries"]), self._loop))

    async def batch_reads(self, values: Values) -> Reply:
        batch, window = int(values["batch"]), int(values["window"])
        return self._worked(
            await workloads.batch_reads(self.readers, int(values["entries"]), batch, window, self._loop)
        )

    async def reads_beside_adds(self, values: Values) -> Reply:
        entries, window = int(values["entries"]), int(values["window"])
        return self._worked(
            await workloads.reads_beside_adds(self.readers, self.writers, self.payloads, entries, window, self._loop)
        )

    async def latencies(self, values: Values) -> Reply:
        """Return the latencies of the last workload: apart from it, so that their rendering does not count as its."""
        return {
            "sampled_us": [round(each * MICROSECONDS) for each in self._latencies.sampled],
            "slowest_us": round(self._latencies.slowest * MICROSECONDS),
        }

    def _worked(self, worked: Worked) -> Reply:
        entries, size, self._latencies = worked
        return {"entries": entries, "bytes": size}

    async def _close_writers(self) -> None:
        await self._loop.windowed((writer.close() for writer in self.writers), METADATA_REQUESTS_IN_FLIGHT)
        self.writers = []


async def answer(load: Load, line: str) -> str:
    """Return the reply to one line."""
    verb, values = parse(line)
    try:
        method: Callable[[Values], Awaitable[Reply]] = getattr(load, verb)
        return render("ok", await method(values))
    except Exception as error:  # goes to the user through the process that asked
        return f"error {describe(error)}"


def command(metadata_uri: str, protocol: str, face: str = TWISTED) -> list[str]:
    """Return the command that runs this module."""
    return [sys.executable, "-P", "-m", "bookkeeper_tx.cli.bench.load_process", metadata_uri, protocol, face]


async def serve(load: Load, lines: "asyncio.Queue[str]") -> None:
    """Answer lines, one after the other."""
    while True:
        print(await answer(load, await lines.get()), flush=True)


def on_twisted(metadata_uri: str, config: ClientConfig) -> None:
    """Serve the standard input with a client on Twisted."""
    from twisted.internet.defer import DeferredQueue

    from bookkeeper_tx.cli.run import run
    from bookkeeper_tx.client.client import BookKeeper

    async def operation(reactor: Any) -> None:
        lines: Any = DeferredQueue()
        _listen(reactor.callFromThread, lines.put)
        client = BookKeeper(metadata_uri, config, reactor)
        await client.start()
        await serve(Load(client), lines)

    run(operation)


def on_asyncio(metadata_uri: str, config: ClientConfig) -> None:
    """Serve it with a client on asyncio."""
    from bookkeeper_tx.aio import BookKeeper
    from bookkeeper_tx.cli.run import collect_garbage_seldom

    async def operation() -> None:
        lines: asyncio.Queue[str] = asyncio.Queue()
        _listen(asyncio.get_running_loop().call_soon_threadsafe, lines.put_nowait)
        async with BookKeeper(metadata_uri, config) as client:
            await serve(Load(client, ON_ASYNCIO), lines)

    collect_garbage_seldom()
    asyncio.run(operation())


def on_threads(metadata_uri: str, config: ClientConfig) -> None:
    """Serve it with the client whose calls wait."""
    from bookkeeper_tx.blocking import BookKeeper
    from bookkeeper_tx.cli.bench import blocking_window
    from bookkeeper_tx.cli.run import collect_garbage_seldom
    from bookkeeper_tx.metadata.blocking.requests import run

    collect_garbage_seldom()
    with BookKeeper(metadata_uri, config) as client:
        load = Load(client, blocking_window.on_threads())
        for line in sys.stdin:
            print(run(answer(load, line)), flush=True)


def _listen(begin: Callable[..., Any], put: Callable[[str], Any]) -> None:
    """Have each line of standard input put on the client's thread; end the process with it."""

    def read_lines() -> None:
        for line in sys.stdin:
            begin(put, line)
        os._exit(0)  # the process that asked has ended, or needs no more: nothing here is to be saved

    threading.Thread(target=read_lines, daemon=True).start()


FACES = {TWISTED: on_twisted, "aio": on_asyncio, "blocking": on_threads}
"""What serves with each face of the client."""


def main(metadata_uri: str, protocol: str, face: str) -> None:
    """Serve the standard input."""
    FACES[face](metadata_uri, ClientConfig(protocol=protocol))


if __name__ == "__main__":
    main(*sys.argv[1:])

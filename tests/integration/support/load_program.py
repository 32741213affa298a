"""A program that uses a bookie in every way at once for some time, and prints what was acknowledged to it.

Arguments: metadata URI, port of the bookie, seconds.  It prints one JSON object: for each ledger how many appends were
acknowledged, the number of reads of the canary, the longest of them in seconds, and how much memory the program took.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet import task
from twisted.internet.defer import Deferred, gatherResults

from bookkeeper_tx.cli.bench.process_cpu import usage
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig, WireProtocol
from tests.integration.support.load_payloads import payload

LEDGERS = 200
"""Ledgers that are appended to in turns."""

ROUND = 400
"""Appends, or entries of a bulk append, that are waited for together."""

SLOW_REQUESTS = 200
"""Batch reads of the client that takes no replies."""

CANARY_INTERVAL_S = 0.05


class Load:
    """All that one bookie has to serve at once."""

    def __init__(self, reactor: Any, client: BookKeeper, client_v3: BookKeeper, port: int, ends_s: float) -> None:
        self._reactor = reactor
        self._client = client
        self._client_v3 = client_v3
        self._port = port
        self._ends_s = ends_s
        self.acknowledged: dict[int, int] = {}
        self.canary_reads = 0
        self.canary_longest_s = 0.0

    @property
    def ended(self) -> bool:
        return bool(self._reactor.seconds() >= self._ends_s)

    async def run(self) -> None:
        """Run every shape of load to its end."""
        canary = await self._client.create_ledger(1, 1, 1)
        await canary.append(payload(canary.ledger_id, 0))
        self.acknowledged[canary.ledger_id] = 1
        shapes: list[Callable[[], Coroutine[Any, Any, None]]] = [
            lambda: self._append_in_turns(self._client),
            lambda: self._append_in_turns(self._client_v3),
            self._append_in_bulk,
            self._fence,
            lambda: self._read_canary(canary),
        ]
        with socket.create_connection(("127.0.0.1", self._port)) as slow:
            slow.sendall(_batch_read(canary.ledger_id) * SLOW_REQUESTS)
            await gatherResults([Deferred.fromCoroutine(shape()) for shape in shapes], consumeErrors=True)

    async def _append_in_turns(self, client: BookKeeper) -> None:
        writers = [await client.create_ledger(1, 1, 1) for _ in range(LEDGERS)]
        counts = dict.fromkeys((writer.ledger_id for writer in writers), 0)
        while not self.ended:
            appended = []
            for number in range(ROUND):
                writer = writers[number % LEDGERS]
                appended.append(writer.append(payload(writer.ledger_id, counts[writer.ledger_id])))
                counts[writer.ledger_id] += 1
            await gatherResults(appended, consumeErrors=True)
            self.acknowledged.update(counts)
            for reader in writers[:: LEDGERS // 10]:
                await self._read_back(client, reader, counts[reader.ledger_id])

    async def _append_in_bulk(self) -> None:
        writer = await self._client.create_ledger(1, 1, 1)
        count = 0
        while not self.ended:
            await writer.append_many(payload(writer.ledger_id, number) for number in range(count, count + ROUND))
            count += ROUND
            self.acknowledged[writer.ledger_id] = count
            await self._read_back(self._client, writer, count)

    async def _read_back(self, client: BookKeeper, writer: LedgerWriter, count: int) -> None:
        """Read the newest entries that others can see, single ones and as a range, while writes go on."""
        reader = await client.open_ledger_no_recovery(writer.ledger_id)
        last = await reader.read_last_add_confirmed()
        if last >= 0:
            for entry in await reader.read(max(0, last - 50), last):
                assert entry.payload == payload(writer.ledger_id, entry.entry_id)
        reader.close()
        assert last < count

    async def _fence(self) -> None:
        while not self.ended:
            writer = await self._client.create_ledger(1, 1, 1)
            await writer.append(payload(writer.ledger_id, 0))
            self.acknowledged[writer.ledger_id] = 1
            await self._client.open_ledger(writer.ledger_id)
            await task.deferLater(self._reactor, 0.2)

    async def _read_canary(self, writer: LedgerWriter) -> None:
        reader = await self._client.open_ledger(writer.ledger_id)
        while not self.ended:
            started = self._reactor.seconds()
            [entry] = await reader.read(0, 0)
            assert entry.payload == payload(writer.ledger_id, 0)
            self.canary_longest_s = max(self.canary_longest_s, self._reactor.seconds() - started)
            self.canary_reads += 1
            await task.deferLater(self._reactor, CANARY_INTERVAL_S)


def _batch_read(ledger_id: int) -> bytes:
    limits = bytes(8) + bytes(4) + (5 * 1024 * 1024).to_bytes(8, "big")
    body = bytes([2, 7, 0, 0]) + ledger_id.to_bytes(8, "big") + bytes(8) + limits
    return len(body).to_bytes(4, "big") + body


async def main(reactor: Any, uri: str, port: str, seconds: str) -> None:
    # A disk that other processes use may be slow, and that is no failure.
    times = {"add_timeout_s": 60.0, "read_timeout_s": 60.0}
    client = BookKeeper(uri, ClientConfig(**times), reactor=reactor)  # type: ignore[arg-type]
    client_v3 = BookKeeper(uri, ClientConfig(protocol=WireProtocol.V3, **times), reactor=reactor)  # type: ignore[arg-type]
    await client.start()
    await client_v3.start()
    load = Load(reactor, client, client_v3, int(port), reactor.seconds() + float(seconds))
    await load.run()
    # The clients go without closing their ledgers: the bookie is killed next.
    print(
        json.dumps(
            {
                "acknowledged": load.acknowledged,
                "canary_reads": load.canary_reads,
                "canary_longest_s": load.canary_longest_s,
                "memory_bytes": usage(os.getpid()).resident_bytes_max,
            }
        )
    )


if __name__ == "__main__":
    task.react(lambda *arguments: Deferred.fromCoroutine(main(*arguments)), sys.argv[1:])

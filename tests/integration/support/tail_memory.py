"""A program that tails a ledger, or copies it as ``bktx ledger read`` does, and prints how much memory that took."""

import io
import sys
from typing import Any

from twisted.internet import task
from twisted.internet.defer import Deferred

from bookkeeper_tx.cli.ledger.ledger_copy import read_payloads
from bookkeeper_tx.client.client import BookKeeper
from tests.memory import memory_peak_mib


class Count(io.RawIOBase):
    """Counts the bytes that are written to it."""

    size = 0

    def write(self, data: Any) -> int:
        self.size += len(data)
        return len(data)


async def main(reactor: Any, uri: str, ledger_id: str, how: str, last: str) -> None:
    client = BookKeeper(uri, reactor=reactor)
    await client.start()
    reader = await client.open_ledger_no_recovery(int(ledger_id))
    await reader.read_last_add_confirmed()
    count = Count()
    if how == "tail":
        async for entry in reader.tail(0):
            count.write(entry.payload)
            if entry.entry_id == int(last):
                break
    else:
        await read_payloads(reader, 0, int(last), how == "batch", b"", count)  # type: ignore[arg-type]
    await client.close()
    print(count.size, memory_peak_mib())


if __name__ == "__main__":
    task.react(lambda *arguments: Deferred.fromCoroutine(main(*arguments)), sys.argv[1:])

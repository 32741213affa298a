"""A program on asyncio, as its authors would have it checked; and uses that type checkers must refuse."""

import asyncio
from collections.abc import Sequence

from bookkeeper_tx import BookKeeperError, ClientConfig, DigestType, Entry, LedgerEntries, LedgerMetadata
from bookkeeper_tx.aio import BookKeeper
from bookkeeper_tx.aio.replicated_log import DLSN, Namespace


async def right(uri: str) -> Sequence[int]:
    config = ClientConfig(read_timeout_s=2.0)
    async with BookKeeper(uri, config) as bk:
        async with await bk.create_ledger(1, 1, 1, DigestType.CRC32C, custom_metadata={"name": b"sample"}) as writer:
            entry_id: int = await writer.append(b"payload")
            ids: list[int] = await asyncio.gather(*[writer.append(b"%d" % number) for number in range(10)])
            added: range = await writer.append_many(b"%d" % number for number in range(10))
            await asyncio.wait_for(writer.force(), 5)
        try:
            reader = await bk.open_ledger(writer.ledger_id)
        except BookKeeperError as error:
            print(error)
            raise
        async with reader:
            entries: LedgerEntries = await reader.read(0, entry_id)
            payloads: list[bytes] = [entry.payload for entry in entries]
            one: Entry = await reader.read_entry(entry_id)
            async for entry in reader:
                print(entry.entry_id + 1, entry.payload.hex())
            async for entry in reader.tail():
                print(entry.last_add_confirmed, one.length, payloads)
            waited: int = await reader.wait_last_add_confirmed(timeout_s=1.0)
        metadata: LedgerMetadata = await bk.ledger_metadata(writer.ledger_id)
        print(metadata.closed, waited, await bk.list_ledgers())
    return [*ids, *added]


async def a_log(bk: BookKeeper) -> DLSN:
    logs = Namespace(bk)
    await logs.create_log("orders", 1, 1, 1)
    async with await logs.campaign("orders") as leadership:
        led_by: str | None = await logs.leader("orders")
        print(led_by, leadership.leads())
        await leadership.until_lost()
    async with await logs.open_log_writer("orders") as writer:
        position: DLSN = await asyncio.wait_for(writer.write(b"payload"), 5)
        positions: list[DLSN] = await asyncio.gather(*[writer.write(b"%d" % number) for number in range(10)])
    async for record in logs.read("orders", position.next()):
        print(record.dlsn, record.payload.hex())
    return await logs.truncate("orders", positions[-1])


async def wrong(bk: BookKeeper) -> None:
    writer = await bk.create_ledger()
    await writer.append("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    entry_id: str = await writer.append(b"")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _ = bk.create_ledger().ledger_id  # type: ignore[attr-defined]  # pyright: ignore
    async with bk.create_ledger():  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues]
        print(entry_id)
    reader = await bk.open_ledger("7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    for _ in reader:  # type: ignore[attr-defined]  # pyright: ignore
        pass
    ClientConfig(read_timeout=2.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

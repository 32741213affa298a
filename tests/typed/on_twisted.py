"""A program on Twisted, as its authors would have it checked; and uses that type checkers must refuse."""

from collections.abc import Sequence

from twisted.internet.defer import Deferred, gatherResults

from bookkeeper_tx import (
    BookKeeper,
    BookKeeperError,
    ClientConfig,
    DigestType,
    Entry,
    LedgerEntries,
    LedgerMetadata,
    LedgerReader,
    LedgerWriter,
)
from bookkeeper_tx.replicated_log import DLSN, Leadership, LogWriter, Namespace


async def right(uri: str) -> Sequence[int]:
    config = ClientConfig(read_timeout_s=2.0)
    async with BookKeeper(uri, config) as bk:
        writer: LedgerWriter = await bk.create_ledger(1, 1, 1, DigestType.CRC32C, custom_metadata={"name": b"sample"})
        async with writer:
            entry_id: int = await writer.append(b"payload")
            ids: list[int] = await gatherResults([writer.append(b"%d" % number) for number in range(10)])
            added: range = await writer.append_many(b"%d" % number for number in range(10))
            forced: Deferred[None] = writer.force()
            await forced
        try:
            reader: LedgerReader = await bk.open_ledger(writer.ledger_id)
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
        metadata: LedgerMetadata = await bk.ledger_metadata(writer.ledger_id)
        print(metadata.closed, await bk.list_ledgers())
    return [*ids, *added]


async def a_log(bk: BookKeeper) -> DLSN:
    logs = Namespace(bk)
    await logs.create_log("orders", 1, 1, 1)
    leadership: Leadership = await logs.campaign("orders", lease_s=5)
    leadership.until_lost().addCallback(lambda _: print("this leads no longer"))
    writer: LogWriter = await logs.open_log_writer("orders", roll_size_bytes=2**20)
    async with writer:
        position: DLSN = await writer.write(b"payload")
        positions: list[DLSN] = await gatherResults([writer.write(b"%d" % number) for number in range(10)])
    async for record in logs.read("orders", position.next(), follow=True):
        print(record.dlsn, record.payload.hex())
    return await logs.truncate("orders", positions[-1])


def called_back(reader: LedgerReader) -> "Deferred[bytes]":
    return reader.read_entry(0).addCallback(lambda entry: entry.payload)


async def wrong(bk: BookKeeper) -> None:
    writer = await bk.create_ledger()
    await writer.append("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    log = await Namespace(bk).open_log_writer("orders")
    entry_id_of_log: int = await log.write(b"")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    await log.write("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    print(entry_id_of_log)
    entry_id: str = await writer.append(b"")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _ = bk.create_ledger().ledger_id  # type: ignore[attr-defined]  # pyright: ignore
    print(entry_id + writer.append(b""))  # type: ignore[operator]  # pyright: ignore
    reader = await bk.open_ledger("7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    for _ in reader:  # type: ignore[attr-defined]  # pyright: ignore
        pass

"""A script whose calls wait, as its authors would have it checked; and uses that type checkers must refuse."""

from concurrent.futures import Future, as_completed
from itertools import islice

from bookkeeper_tx import BookKeeperError, ClientConfig, DigestType, Entry, LedgerEntries, LedgerMetadata
from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.blocking.replicated_log import DLSN, Namespace


def right(uri: str) -> list[int]:
    config = ClientConfig(read_timeout_s=2.0)
    with BookKeeper(uri, config) as bk:
        with bk.create_ledger(1, 1, 1, DigestType.CRC32C, custom_metadata={"name": b"sample"}) as writer:
            entry_id: int = writer.append(b"payload")
            later: list[Future[int]] = [writer.append_later(b"%d" % number) for number in range(10)]
            ids: list[int] = [each.result() for each in as_completed(later)]
            added: range = writer.append_many(b"%d" % number for number in range(10))
            writer.force()
        try:
            reader = bk.open_ledger(writer.ledger_id)
        except BookKeeperError as error:
            print(error)
            raise
        with reader:
            entries: LedgerEntries = reader.read(0, entry_id)
            payloads: list[bytes] = [entry.payload for entry in entries]
            one: Entry = reader.read_entry_later(entry_id).result(timeout=5)
            for entry in islice(reader, 10):
                print(entry.entry_id + 1, entry.payload.hex())
            for entry in reader.tail():
                print(entry.last_add_confirmed, one.length, payloads)
        metadata: LedgerMetadata = bk.ledger_metadata(writer.ledger_id)
        print(metadata.closed, bk.list_ledgers())
    return [*ids, *added]


def a_log(bk: BookKeeper) -> DLSN:
    logs = Namespace(bk)
    logs.create_log("orders", 1, 1, 1)
    with logs.campaign("orders") as leadership, logs.open_log_writer("orders", still_leads=leadership.leads) as writer:
        position: DLSN = writer.write(b"payload")
        later: Future[DLSN] = writer.write_later(b"another")
        positions: list[DLSN] = [*writer.write_bulk([b"third"]), later.result(timeout=5)]
    for record in logs.read("orders", position.next()):
        print(record.dlsn, record.payload.hex())
    return logs.truncate("orders", positions[-1])


def wrong(bk: BookKeeper) -> None:
    writer = bk.create_ledger()
    writer.append("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    entry_id: str = writer.append(b"")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    entry_id = writer.append_later(b"")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    print(entry_id)
    reader = bk.open_ledger("7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    _ = reader.read(0, 1).payload  # type: ignore[attr-defined]  # pyright: ignore


async def wrong_world(bk: BookKeeper) -> None:
    await bk.list_ledgers()  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    async with bk:  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues]
        pass

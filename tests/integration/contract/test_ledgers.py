"""Ledgers are created, written, closed, changed and deleted; what is wrong has the same name on each face."""

import traceback
from typing import Any

import pytest

from bookkeeper_tx.errors import (
    BatchReadNotSupported,
    BookKeeperError,
    ClientClosed,
    DigestMismatch,
    IllegalOperation,
    InvalidArgument,
    InvalidConfig,
    LedgerClosed,
    LedgerExists,
    LedgerFenced,
    MetadataUnavailable,
    NoSuchLedger,
    NotEnoughBookies,
    TooManyOutstandingAdds,
    Unauthorized,
)
from bookkeeper_tx.model import DigestType, LedgerId, LedgerState
from tests.integration.support.our_client import make_client

PAYLOADS = [b"", b"x", b"payload" * 100, bytes(70_000)]


@pytest.mark.parametrize("protocol", ["v2", "v3"])
async def test_what_is_appended_is_read(client: Any, protocol: str) -> None:
    async with client(protocol=protocol) as bk:
        async with await bk.create_ledger(3, 2, 2, custom_metadata={"owner": b"me"}) as writer:
            assert [await each for each in [writer.append(payload) for payload in PAYLOADS]] == [0, 1, 2, 3]
            assert await writer.append_many(PAYLOADS) == range(4, 8)
            assert await writer.append_many(iter(PAYLOADS)) == range(8, 12)
            assert await writer.append_many([]) == range(12, 12)
            await writer.force()
            assert (writer.last_add_confirmed, writer.length) == (11, 3 * sum(map(len, PAYLOADS)))
        assert writer.metadata.state is LedgerState.CLOSED
        async with await bk.open_ledger(writer.ledger_id) as reader:
            assert (reader.closed, reader.last_add_confirmed, reader.length) == (True, 11, writer.length)
            assert (await reader.read(0, 11)).payloads == PAYLOADS * 3
            assert (await reader.read(2, 5, batch=False)).payloads == (PAYLOADS * 3)[2:6]
            assert (await reader.read_entry(1)).payload == b"x"
            assert [entry.payload async for entry in reader] == PAYLOADS * 3
        assert reader.metadata.custom_metadata == {"owner": b"me"}
        assert await bk.ledger_metadata(writer.ledger_id) == writer.metadata


async def test_whoever_opens_a_ledger_fences_its_writer(client: Any) -> None:
    async with client() as bk, client() as other:
        writer = await bk.create_ledger(2, 2, 2)
        await writer.append(b"kept")
        reader = await other.open_ledger(writer.ledger_id)
        assert (reader.metadata.state, reader.last_add_confirmed) == (LedgerState.CLOSED, 0)
        errors = []
        for late in writer.append(b"late"), writer.append(b"later"), writer.append_many([b"late"]):
            with pytest.raises(LedgerFenced) as raised:
                await late
            errors.append(raised.value)
        assert len({id(each) for each in errors}) == 3, "one would get longer with everybody who is told"
        await writer.close()  # at the entry where the other has closed it
        assert (await reader.read(0, 0)).payloads == [b"kept"]


async def test_a_ledger_that_is_not_closed_is_not_disturbed(client: Any) -> None:
    async with client() as bk, client() as other:
        writer = await bk.create_ledger(2, 2, 2)
        assert [await writer.append(payload) for payload in (b"one", b"two")] == [0, 1]
        reader = await other.open_ledger_no_recovery(writer.ledger_id)
        assert (reader.closed, reader.last_add_confirmed) == (False, 0)
        assert (await reader.read_unconfirmed(0, 1)).payloads == [b"one", b"two"]
        assert (await reader.read_batch_unconfirmed(0)).payloads == [b"one", b"two"]
        with pytest.raises(InvalidArgument, match="must be from 0 to 0"):
            await reader.read_entry(1)
        assert await writer.append(b"three") == 2
        assert await reader.read_last_add_confirmed() == 1
        await writer.close()
        assert await reader.wait_last_add_confirmed(1) == 2


@pytest.mark.parametrize("digest_type", list(DigestType))
async def test_digests_and_passwords(client: Any, digest_type: DigestType) -> None:
    others = {DigestType.CRC32C: DigestType.MAC}
    async with client() as bk:
        async with await bk.create_ledger(1, 1, 1, digest_type, b"secret") as writer:
            await writer.append(b"payload")
        assert (await (await bk.open_ledger(writer.ledger_id, b"secret")).read(0, 0)).payloads == [b"payload"]
        with pytest.raises(Unauthorized, match="password"):
            await bk.open_ledger(writer.ledger_id, b"wrong")
        with pytest.raises(Unauthorized, match="password"):
            await bk.open_ledger_no_recovery(writer.ledger_id)
        with pytest.raises(DigestMismatch):
            await bk.open_ledger(writer.ledger_id, b"secret", others.get(digest_type, DigestType.CRC32C))


@pytest.mark.parametrize("protocol", ["v2", "v3"])
async def test_a_batch_read_is_one_request(client: Any, protocol: str) -> None:
    payloads = [b"%d" % number * 50 for number in range(50)]
    async with client(protocol=protocol) as bk, await bk.create_ledger(3, 2, 2) as striped:
        await striped.append_many(payloads)
        async with await bk.create_ledger(2, 2, 2) as writer:
            await writer.append_many(payloads)
        async with await bk.open_ledger(writer.ledger_id) as reader:
            batches = [(0, 0, 0), (0, 10, 0), (7, 3, 0), (49, 0, 0), (48, 10, 1), (10, 0, 500)]
            counts = []
            for start, max_count, max_size in batches:
                found = await reader.read_batch(start, max_count, max_size, fallback=False)
                assert found.payloads == payloads[start : start + len(found)]
                counts.append(len(found))
            assert counts[:5] == [50, 10, 3, 1, 1]
            assert 1 < counts[5] < 40
            with pytest.raises(InvalidArgument):
                await reader.read_batch(50)
        async with await bk.open_ledger(striped.ledger_id) as reader:
            with pytest.raises(BatchReadNotSupported):
                await reader.read_batch(0, fallback=False)
            found = await reader.read_batch(0, 20)
            assert found.payloads == payloads[: len(found)]


async def test_custom_metadata_changes_and_what_others_change_stays(client: Any) -> None:
    async with client() as bk, client() as other:
        async with await bk.create_ledger(1, 1, 1, custom_metadata={"a": b"1", "b": b"2"}) as writer:
            changed = await other.update_custom_metadata(writer.ledger_id, {"a": None, "c": b"3"})
            assert changed.custom_metadata == {"b": b"2", "c": b"3"}
        assert await bk.update_custom_metadata(writer.ledger_id, {"d": b""}) == await other.ledger_metadata(
            writer.ledger_id
        )
        assert (await bk.ledger_metadata(writer.ledger_id)).custom_metadata == {"b": b"2", "c": b"3", "d": b""}
        with pytest.raises(InvalidArgument):
            await bk.update_custom_metadata(writer.ledger_id, {"a": "text"})


async def test_the_length_of_a_ledger_that_is_being_written(client: Any) -> None:
    async with client() as bk:
        writer = await bk.create_ledger(2, 2, 2)
        reader = await bk.open_ledger_no_recovery(writer.ledger_id)
        assert await reader.read_length() == 0
        for payload in (b"four", b"five5", b"last"):
            await writer.append(payload)
        assert (await reader.read_length(), reader.length) == (9, 0)
        await writer.close()
        assert await reader.wait_last_add_confirmed(1) == 2
        assert (await reader.read_length(), reader.length) == (13, 13)


@pytest.mark.parametrize("protocol", ["v2", "v3"])
async def test_the_last_entries_before_a_pause(client: Any, protocol: str) -> None:
    async with client(protocol=protocol) as bk, await bk.create_ledger(3, 3, 2) as writer:
        await writer.append_many([b"x"] * 10)
        async with await bk.open_ledger_no_recovery(writer.ledger_id) as reader:
            assert writer.last_add_confirmed == 9
            assert await reader.read_last_add_confirmed(explicit=True) == -1
            assert await writer.write_last_add_confirmed() == 9
            assert await reader.read_last_add_confirmed(explicit=False) == -1
            assert await reader.read_last_add_confirmed(explicit=True) == 9
            await writer.append_many([b"y"] * 10)
            assert await reader.wait_last_add_confirmed(timeout_s=0.1) == 9
            await writer.write_last_add_confirmed()
            assert await reader.wait_last_add_confirmed(timeout_s=10.0) == 19


async def test_what_bookies_and_store_know(client: Any, cluster: Any) -> None:
    async with client(protocol="v3") as bk:
        assert await bk.writable_bookies() == frozenset(cluster.bookie_ids)
        disk = await bk.bookie_info(cluster.bookie_ids[0])
        assert 0 < disk.free_bytes <= disk.total_bytes
        scoped = await bk.create_ledger(1, 1, 1, ledger_id=LedgerId.random())
        async with await bk.create_ledger(3, 2, 2) as writer:
            await writer.append_many([b"x"] * 9)
        lists = [await bk.entries_of(writer.ledger_id, each) for each in writer.metadata.last_fragment.ensemble]
        assert sorted(entry_id for each in lists for entry_id in each) == sorted([*range(9)] * 2)
        with pytest.raises(NoSuchLedger):
            await bk.entries_of(2**40, cluster.bookie_ids[0])
        assert scoped.ledger_id not in await bk.list_ledgers()
        assert {scoped.ledger_id, writer.ledger_id} <= set(await bk.list_ledgers(None))
        await bk.delete_ledger(writer.ledger_id)
        assert writer.ledger_id not in await bk.list_ledgers()
        for gone in bk.delete_ledger, bk.open_ledger, bk.open_ledger_no_recovery, bk.ledger_metadata:
            with pytest.raises(NoSuchLedger):
                await gone(writer.ledger_id)


async def test_arguments_that_cannot_be(client: Any) -> None:
    async with client(outstanding_adds_max=10) as bk:
        for sizes in ((0, 0, 0), (1, 2, 1), (2, 1, 2)):
            with pytest.raises(InvalidArgument):
                await bk.create_ledger(*sizes)
        with pytest.raises(NotEnoughBookies):
            await bk.create_ledger(4, 4, 4)
        writer = await bk.create_ledger(1, 1, 1)
        for wrong in writer.append("text"), writer.append(bytes(6 * 1024 * 1024)), writer.append_many([b"x", 7]):
            with pytest.raises(InvalidArgument):
                await wrong
        with pytest.raises(LedgerExists):
            await bk.create_ledger(1, 1, 1, ledger_id=writer.ledger_id)
        appended = [writer.append(b"x") for _ in range(30)]
        for late in appended[20:]:
            with pytest.raises(TooManyOutstandingAdds):
                await late
        assert [await each for each in appended[:20]] == list(range(20))
        assert await writer.append(b"x") == 20
        reader = await bk.open_ledger(writer.ledger_id)
        for read in reader.read(5, 4), reader.read(0, 21), reader.read_batch(-1), reader.read_batch(0, -1):
            with pytest.raises(InvalidArgument):
                await read
        with pytest.raises(InvalidArgument):
            await bk.open_ledger(-1)
        with pytest.raises(InvalidArgument):
            await reader.wait_last_add_confirmed(timeout_s=-1)


async def test_a_client_or_a_handle_that_is_closed(client: Any) -> None:
    bk = client()
    with pytest.raises(IllegalOperation, match=r"not started: .* call its start\(\)"):
        await bk.create_ledger(1, 1, 1)
    async with bk:
        closed = await bk.create_ledger(1, 1, 1)
        await closed.append(b"x")
        await closed.close()
        await closed.close()
        for late in closed.append(b"y"), closed.append_many([b"y"]), closed.force():
            with pytest.raises(LedgerClosed, match="this writer has closed it"):
                await late
        async with await bk.open_ledger(closed.ledger_id) as reader:
            pass
        assert (await reader.read(0, 0)).payloads == [b"x"], "a reader that is closed only watches no more"
        writer = await bk.create_ledger(1, 1, 1)
        await writer.append(b"x")
        follower = await bk.open_ledger_no_recovery(writer.ledger_id)
    await bk.close()
    uses = [
        bk.create_ledger,
        bk.list_ledgers,
        bk.writable_bookies,
        lambda: bk.open_ledger(writer.ledger_id),
        lambda: writer.append(b"y"),
        lambda: writer.append_many([b"y"]),
        writer.force,
        writer.close,
        lambda: reader.read(0, 0),
        lambda: reader.read_entry(0),
        lambda: reader.read_batch(0),
        lambda: anext(aiter(reader)),
        follower.read_last_add_confirmed,
        follower.wait_last_add_confirmed,
        lambda: anext(aiter(follower.tail())),
    ]
    for use in uses:
        with pytest.raises(ClientClosed):
            await use()
    async with client() as other:  # nothing of it is lost
        assert (await (await other.open_ledger(writer.ledger_id)).read(0, 0)).payloads == [b"x"]


@pytest.mark.parametrize("given_ids", [False, True])
async def test_what_a_closed_writer_says_does_not_grow_from_append_to_append(client: Any, given_ids: bool) -> None:
    async with client() as bk:
        async with await (bk.create_ledger_adv if given_ids else bk.create_ledger)(1, 1, 1) as writer:
            pass
        frames = []
        for _ in range(5):
            for use in (lambda: writer.append(0, b"x")) if given_ids else (lambda: writer.append(b"x")), writer.force:
                with pytest.raises(LedgerClosed) as raised:
                    await use()
                frames.append(len(list(traceback.walk_tb(raised.value.__traceback__))))
        assert frames[:2] * 5 == frames


async def test_what_a_block_raises_closes_all_the_same(client: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        async with client() as bk, await bk.create_ledger(1, 1, 1) as writer:
            assert await writer.append(b"x") / 0
    with pytest.raises(ClientClosed):
        await bk.list_ledgers()
    assert (writer.metadata.state, writer.metadata.last_entry_id) == (LedgerState.CLOSED, 0)


async def test_an_iteration_that_is_left(client: Any) -> None:
    async with client(read_bytes_max=2**20) as bk:
        async with await bk.create_ledger(2, 2, 2) as writer:
            await writer.append_many([bytes(100_000)] * 50)
        async with await bk.open_ledger(writer.ledger_id) as reader:
            for iteration in reader, reader.entries(10), reader.tail(10):
                async for _ in iteration:
                    break
            pieces = [piece async for piece in reader.entries(10, 40)]
            assert sum(len(piece) for piece in pieces) == 31
            assert len(pieces) > 1


async def test_a_store_that_cannot_be_had(face: str, tmp_path: Any) -> None:
    with pytest.raises(InvalidConfig):
        make_client("nonsense://x")
    with pytest.raises(MetadataUnavailable):
        async with make_client(f"sqlite://{tmp_path}/none.sqlite"):
            pass
    assert issubclass(MetadataUnavailable, BookKeeperError)

"""Bookies that stop or end: the client goes on with others, or says why it cannot; and what is given up is given up."""

import asyncio
import os
import signal
from collections.abc import Callable
from threading import Timer
from typing import Any

import pytest
from twisted.internet import defer, reactor

from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, NotEnoughBookies, RequestTimedOut
from bookkeeper_tx.testing.conformance_driver.on_threads import on_thread
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.our_client import make_driver

TIMEOUT_S = 0.5
GIVEN_UP = (asyncio.CancelledError, defer.CancelledError)

WITHIN: dict[str, Callable[[Any, bytes, float], Any]] = {
    "twisted": lambda writer, payload, timeout_s: writer.append(payload).addTimeout(timeout_s, reactor),
    "aio": lambda writer, payload, timeout_s: asyncio.wait_for(writer.append(payload), timeout_s),
    "blocking": lambda writer, payload, timeout_s: on_thread(writer.waiting.append_later(payload).result, timeout_s),
}
"""How the programs of each world give an append a time of their own."""


async def errors_of(promises: Any) -> list[type[BaseException] | None]:
    found: list[type[BaseException] | None] = []
    for promise in promises:
        try:
            await promise
            found.append(None)
        except BookKeeperError as error:
            found.append(type(error))
    return found


async def test_another_bookie_takes_the_place_of_one_that_stops(client: Any, stopped: Any) -> None:
    async with client(add_timeout_s=TIMEOUT_S, read_timeout_s=TIMEOUT_S) as bk:
        writer = await bk.create_ledger(2, 2, 2)
        await writer.append(b"before")
        ensemble = writer.metadata.last_fragment.ensemble
        with stopped(ensemble[:1]):
            under_way = [writer.append(b"%d" % number) for number in range(20)]
            assert await errors_of(under_way) == [None] * 20
            assert writer.metadata.last_fragment.ensemble[1] == ensemble[1]
            assert ensemble[0] not in writer.metadata.last_fragment.ensemble
            async with await bk.open_ledger_no_recovery(writer.ledger_id) as reader:
                assert (await reader.read_unconfirmed(0, 20)).payloads == [b"before", *(b"%d" % n for n in range(20))]
            await writer.close()
        assert len((await bk.ledger_metadata(writer.ledger_id)).fragments) == 2


async def test_without_another_bookie_the_ledger_takes_no_more(client: Any, stopped: Any) -> None:
    async with client(add_timeout_s=TIMEOUT_S) as bk:
        writer = await bk.create_ledger(3, 3, 3)
        await writer.append(b"kept")
        with stopped(writer.metadata.last_fragment.ensemble[:1]):
            late = [writer.append(b"late"), writer.append_many([b"late"]), writer.append_many(iter([b"late"]))]
            assert await errors_of(late) == [NotEnoughBookies] * 3
            assert await errors_of([writer.append(b"later"), writer.force()]) == [NotEnoughBookies] * 2
        await writer.close()
        reader = await bk.open_ledger(writer.ledger_id)
        assert (reader.last_add_confirmed, (await reader.read(0, 0)).payloads) == (0, [b"kept"])


async def test_a_writer_that_goes_on_without_a_bookie_says_so(client: Any, stopped: Any) -> None:
    async with client(add_timeout_s=TIMEOUT_S) as bk:
        writer = await bk.create_ledger(3, 3, 2)
        await writer.append(b"on three")
        missing = writer.metadata.last_fragment.ensemble[0]
        with stopped([missing]):
            await writer.append(b"on two")
            while not writer.under_replicated:
                await writer.append(b"on two")
            assert writer.under_replicated == {missing}
            await writer.close()
        assert (await bk.ledger_metadata(writer.ledger_id)).custom_metadata == {"underReplicated": missing.encode()}


async def test_requests_to_bookies_that_do_nothing_time_out(client: Any, stopped: Any, cluster: LocalCluster) -> None:
    async with client() as bk, client(read_timeout_s=TIMEOUT_S) as hasty:
        async with await bk.create_ledger(3, 3, 3) as writer:
            await writer.append_many([b"x"] * 10)
        open_writer = await bk.create_ledger(3, 3, 3)
        await open_writer.append(b"x")
        reader = await hasty.open_ledger(writer.ledger_id)
        follower = await hasty.open_ledger_no_recovery(open_writer.ledger_id)
        with stopped(cluster.bookie_ids):
            late = [reader.read(0, 9), reader.read_entry(0), reader.read_batch(0), follower.read_last_add_confirmed()]
            late += [hasty.open_ledger(open_writer.ledger_id), hasty.bookie_info(cluster.bookie_ids[0])]
            assert set(await errors_of(late)) <= {RequestTimedOut, BookieUnavailable}
        assert (await reader.read(0, 9)).payloads == [b"x"] * 10
        assert (await hasty.open_ledger(open_writer.ledger_id)).last_add_confirmed == 0


async def test_a_read_does_not_wait_for_a_bookie_that_does_nothing(client: Any, stopped: Any) -> None:
    """The read time-out, and that of a test, are far longer than all these reads take."""
    async with client() as bk, client(read_timeout_s=3600) as patient:
        async with await bk.create_ledger(3, 3, 3) as writer:
            await writer.append_many([b"x"] * 30)
        open_writer = await bk.create_ledger(3, 3, 2)
        await open_writer.append_many([b"x"] * 30)
        await open_writer.append(b"x")
        known = await patient.open_ledger(writer.ledger_id)
        await known.read(0, 29)
        follower = await patient.open_ledger_no_recovery(open_writer.ledger_id)
        for hung in writer.metadata.last_fragment.ensemble:
            with stopped([hung]):
                for reader in known, await patient.open_ledger(writer.ledger_id):
                    for entry_id in range(3):
                        assert (await reader.read_entry(entry_id)).payload == b"x"
                        assert (await reader.read(entry_id, 29)).payloads == [b"x"] * (30 - entry_id)
                        assert (await reader.read(entry_id, 29, batch=False)).payloads == [b"x"] * (30 - entry_id)
                        assert (await reader.read_batch(entry_id, 3)).payloads == [b"x"] * 3
                assert await follower.read_last_add_confirmed() == 29
                assert await follower.wait_last_add_confirmed(28, 10) == 29


async def test_a_tail_outlives_bookies_that_stop_while_it_reads(client: Any, cluster: LocalCluster) -> None:
    async with client() as bk, client(read_timeout_s=TIMEOUT_S) as hasty:
        async with await bk.create_ledger(3, 3, 3) as writer:
            await writer.append_many([b"x"] * 10)
        async with await hasty.open_ledger(writer.ledger_id) as reader:
            pids: list[Any] = [bookie.pid for bookie in cluster.bookies]
            again = Timer(6 * TIMEOUT_S, lambda: [os.kill(pid, signal.SIGCONT) for pid in pids])
            again.start()
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            try:
                assert [entry.entry_id async for entry in reader.tail(0)] == list(range(10))
            finally:
                again.join()


async def test_a_time_out_of_the_callers_own(face: str, client: Any, stopped: Any) -> None:
    async with client() as bk:
        writer = await bk.create_ledger(3, 3, 3)
        with stopped(writer.metadata.last_fragment.ensemble):
            with pytest.raises((TimeoutError, defer.TimeoutError)):
                await WITHIN[face](writer, b"late", 0.1)
            after = writer.append(b"after")
        assert await after == 1
        await writer.close()
        assert (await (await bk.open_ledger(writer.ledger_id)).read(0, 1)).payloads == [b"late", b"after"]


async def test_a_cancelled_append_holds_up_no_other(client: Any, stopped: Any) -> None:
    async with client() as bk:
        writer = await bk.create_ledger(3, 3, 2)
        await writer.append(b"first")
        with stopped(writer.metadata.last_fragment.ensemble):
            given_up, *others = [writer.append(b"%d" % number) for number in range(10)]
            given_up.cancel()
            with pytest.raises(GIVEN_UP):
                await given_up
        ids = [await each for each in others]
        # One that is given up before the client's thread has come to it is not stored.
        assert ids in (list(range(2, 11)), list(range(1, 10)))
        await writer.close()
        reader = await bk.open_ledger(writer.ledger_id)
        assert (await reader.read(ids[0], ids[-1])).payloads == [b"%d" % number for number in range(1, 10)]


async def test_what_waits_fails_when_its_client_is_closed(client: Any, stopped: Any, cluster: LocalCluster) -> None:
    async with client() as bk, client() as closing:
        async with await bk.create_ledger(3, 3, 3) as writer:
            await writer.append(b"x")
        mine = await closing.create_ledger(3, 3, 3)
        await mine.append(b"kept")
        reader = await closing.open_ledger(writer.ledger_id)
        follower = await closing.open_ledger_no_recovery(mine.ledger_id)
        tail = aiter(follower.tail())
        tailed = make_driver().spawn(anext(tail))
        waiting = [mine.append(b"late") for _ in range(5)]
        with stopped(cluster.bookie_ids):
            waiting += [reader.read(0, 0), reader.read_entry(0), mine.close(), follower.wait_last_add_confirmed(9)]
            await closing.close()
            assert {each.__name__ for each in await errors_of([*waiting, tailed]) if each} == {"ClientClosed"}
        reader = await bk.open_ledger(mine.ledger_id)
        assert (await reader.read_entry(0)).payload == b"kept"


async def test_what_is_under_way_with_the_metadata_is_told_the_same(client: Any) -> None:
    async with client() as other, await other.create_ledger(1, 1, 1) as writer:
        pass
    bk = client()
    await bk.start()
    under_way = [bk.create_ledger(3, 3, 3) for _ in range(10)]
    under_way += [bk.open_ledger(writer.ledger_id) for _ in range(10)]
    under_way += [bk.update_custom_metadata(writer.ledger_id, {"a": b"%d" % number}) for number in range(10)]
    await bk.close()
    assert {each.__name__ for each in await errors_of(under_way) if each} <= {"ClientClosed"}

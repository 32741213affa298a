"""A client belongs to its reactor's thread, or to its event loop; the one whose calls wait belongs to all threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bookkeeper_tx import aio
from bookkeeper_tx.errors import ClientClosed, IllegalOperation
from bookkeeper_tx.testing.conformance_driver.on_threads import OnThreads
from bookkeeper_tx.testing.local_cluster import LocalCluster


def uses_of(bk: Any, writer: Any, reader: Any) -> list[Callable[[], Any]]:
    return [
        lambda: writer.append(b"x"),
        lambda: writer.append_many([b"x"]),
        lambda: writer.append_many(iter([b"x"])),
        writer.force,
        lambda: reader.read_entry(0),
        lambda: reader.read(0, 0),
        lambda: reader.read_batch(0),
        reader.read_length,
        lambda: bk.create_ledger(1, 1, 1),
        lambda: bk.open_ledger(reader.ledger_id),
        bk.list_ledgers,
    ]


async def begun(bk: Any) -> list[Callable[[], Any]]:
    async with await bk.create_ledger(1, 1, 1) as closed:
        await closed.append(b"x")
    return uses_of(bk, await bk.create_ledger(1, 1, 1), await bk.open_ledger(closed.ledger_id))


async def test_another_thread(client: Any) -> None:
    async with client() as bk:
        uses = await begun(bk)
        if isinstance(bk, OnThreads):
            for use in uses:
                await use()  # each on a thread of its own
            return
        with ThreadPoolExecutor(1) as thread:
            for use in uses:
                with pytest.raises(IllegalOperation, match="thread"):
                    thread.submit(use).result()
        for use in uses:
            await use()


async def test_an_append_that_another_thread_was_refused_counts_in_no_length(client: Any) -> None:
    async with client() as bk:
        writer = await bk.create_ledger_adv(1, 1, 1)
        if not isinstance(bk, OnThreads):
            with ThreadPoolExecutor(1) as thread, pytest.raises(IllegalOperation, match="thread"):
                thread.submit(writer.append, 0, b"refused").result()
        assert await writer.append(0, b"x") == 0
        await writer.close()
        async with await bk.open_ledger(writer.ledger_id) as reader:
            assert (await reader.read_entry(0)).length == 1


def test_another_event_loop(cluster: LocalCluster) -> None:
    async def begin() -> tuple[aio.BookKeeper, list[Callable[[], Any]]]:
        bk = aio.BookKeeper(cluster.metadata_uri)
        await bk.start()
        return bk, await begun(bk)

    async def elsewhere(uses: list[Callable[[], Any]], told: type[Exception], match: str) -> None:
        for use in uses:
            with pytest.raises(told, match=match):
                await use()

    with asyncio.Runner() as runner:
        bk, uses = runner.run(begin())
        asyncio.run(elsewhere(uses, IllegalOperation, "another event loop"))

        async def goes_on() -> None:
            for use in uses:
                await use()
            await bk.close()

        runner.run(goes_on())
    asyncio.run(elsewhere(uses, ClientClosed, "has ended"))

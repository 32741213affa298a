"""bookkeeper_tx.metadata.aio_store: the blocking store on a thread, and looks for changes; on a real SQLite file."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.errors import MetadataConflict, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.metadata import aio_store
from bookkeeper_tx.metadata.aio_store import AioMetadataStore
from bookkeeper_tx.metadata.sqlite.records import SqliteRecords
from bookkeeper_tx.metadata.watches import BOOKIES
from tests.metadata.contract import METADATA


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of an empty cluster."""
    path = tmp_path / "meta.sqlite"
    records = SqliteRecords(str(path))
    records.tables.create()
    records.close()
    return path


def run(path: Path, scenario: Callable[[AioMetadataStore, AioMetadataStore], Any]) -> None:
    """Run ``scenario(store, other)`` with two stores of one file."""

    async def main() -> None:
        stores = [AioMetadataStore(f"sqlite://{path}", 5.0, asyncio.get_running_loop()) for _ in range(2)]
        for store in stores:
            await store.start()
        try:
            await scenario(*stores)
        finally:
            for store in stores:
                await store.stop()
                await store.stop()

    asyncio.run(main())


def test_ledgers_are_created_changed_and_deleted(path: Path) -> None:
    async def scenario(store: AioMetadataStore, other: AioMetadataStore) -> None:
        ledger_id = await store.new_ledger_id()
        created = await store.create_ledger(ledger_id, METADATA)
        assert await other.read_ledger(ledger_id) == created
        await store.write_ledger(ledger_id, METADATA, created.version)
        with pytest.raises(MetadataConflict):
            await other.write_ledger(ledger_id, METADATA, created.version)
        assert await other.list_ledgers() == [ledger_id]
        await store.delete_ledger(ledger_id)
        with pytest.raises(NoSuchLedger):
            await other.read_ledger(ledger_id)
        assert await store.writable_bookies() == frozenset()

    run(path, scenario)


class Away:
    """A blocking store that is away; ``seconds`` is the time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.asked: list[int] = []
        self.may_answer = threading.Semaphore(0)
        self.closed = threading.Event()

    def read_ledger(self, ledger_id: int) -> object:
        self.asked.append(ledger_id)
        self.may_answer.acquire()
        self.seconds += 10
        if ledger_id > 100:
            return "answer"
        raise MetadataUnavailable("away")

    def close(self) -> None:
        self.closed.set()


def run_away(monkeypatch: pytest.MonkeyPatch, scenario: Callable[[AioMetadataStore, Away], Any]) -> None:
    away = Away()
    monkeypatch.setattr(aio_store, "open_blocking_store", lambda *_: away)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "time", lambda: away.seconds)
        store = AioMetadataStore("sqlite:///none", 10.0, loop)
        await store.start()
        await scenario(store, away)

    asyncio.run(main())


def test_questions_that_have_waited_for_one_without_an_answer_have_none_either(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(store: AioMetadataStore, away: Away) -> None:
        asked = [store.read_ledger(each) for each in range(5)]
        away.may_answer.release(2)
        assert [str(each) for each in await asyncio.gather(*asked, return_exceptions=True)] == ["away"] * 5
        assert away.asked == [0]
        with pytest.raises(MetadataUnavailable, match="away"):
            await store.read_ledger(7)
        assert away.asked == [0, 7]
        away.may_answer.release(2)
        assert await asyncio.gather(store.read_ledger(101), store.read_ledger(102)) == ["answer"] * 2
        await store.stop()

    run_away(monkeypatch, scenario)


def test_what_was_given_up_or_comes_after_a_stop_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(store: AioMetadataStore, away: Away) -> None:
        asked = [store.read_ledger(each) for each in (0, 1, 102, 103)]
        while not away.asked:
            await asyncio.sleep(0)
        asked[1].cancel()
        stopping = asyncio.ensure_future(store.stop())
        await asyncio.sleep(0)
        away.may_answer.release(1)
        await stopping
        said = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(each) for each in said] == ["away", "", *["the metadata store sqlite:///none was stopped"] * 2]
        assert away.asked == [0]

    run_away(monkeypatch, scenario)


def test_a_store_is_closed_also_if_nobody_waits_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(store: AioMetadataStore, away: Away) -> None:
        asked = store.read_ledger(0)
        stopping = asyncio.ensure_future(store.stop())
        await asyncio.sleep(0)
        stopping.cancel()
        await asyncio.sleep(0)
        away.may_answer.release(1)
        await asyncio.gather(asked, return_exceptions=True)
        await asyncio.to_thread(away.closed.wait)

    run_away(monkeypatch, scenario)


def test_a_watcher_is_told_of_the_change_of_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio_store, "LOOK_INTERVAL_S", 0.0)

    async def scenario(store: AioMetadataStore, other: AioMetadataStore) -> None:
        created = await store.create_ledger(1, METADATA)
        told = asyncio.Event()
        end = other.watch_ledger(1, told.set)
        await other.read_ledger(1)  # not older than what the watch begins with
        assert not told.is_set()
        await store.write_ledger(1, METADATA, created.version)
        await told.wait()
        end()
        told.clear()
        deleted = asyncio.Event()
        other.watch_ledger(1, deleted.set)
        await other.read_ledger(1)
        await store.delete_ledger(1)
        await deleted.wait()
        assert not told.is_set()

    run(path, scenario)


def test_a_store_that_is_stopped_says_so(path: Path) -> None:
    async def scenario(store: AioMetadataStore, other: AioMetadataStore) -> None:
        store.watch_bookies(lambda: None)
        await store.stop()
        with pytest.raises(MetadataUnavailable, match="was stopped"):
            await store.list_ledgers()

    run(path, scenario)


def test_looks_do_not_pile_up_while_the_store_is_slow(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio_store, "LOOK_INTERVAL_S", 0.0)

    async def scenario(store: AioMetadataStore, other: AioMetadataStore) -> None:
        answers, looks = threading.Event(), list[object]()

        def observe(keys: object) -> dict[Any, Any]:
            looks.append(keys)
            answers.wait()
            return {}

        store._observe = observe  # type: ignore[method-assign,assignment]
        store.watch_bookies(lambda: None)
        while not looks:
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert store._thread is not None
        assert store._thread._calls.qsize() <= 1
        answers.set()
        while len(looks) < 5:
            await asyncio.sleep(0)

    run(path, scenario)


def test_a_store_that_is_stopped_while_it_opens_is_closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    opening, may_open = threading.Event(), threading.Event()

    class Store:
        def close(self) -> None:
            closed.append("closed")

    def open_slowly(*_: Any) -> Any:
        opening.set()
        may_open.wait()
        return Store()

    monkeypatch.setattr(aio_store, "open_blocking_store", open_slowly)

    async def scenario() -> None:
        store = AioMetadataStore(f"sqlite://{path}", 5.0, asyncio.get_running_loop())
        starting = store.start()
        await asyncio.to_thread(opening.wait)
        starting.cancel()
        stopping = asyncio.ensure_future(store.stop())
        await asyncio.sleep(0)
        may_open.set()
        await stopping
        assert closed == ["closed"]

    asyncio.run(scenario())


class TellingStore:
    """A store that tells of changes, as ZooKeeper's."""

    tells = True

    def __init__(self) -> None:
        self.values: dict[Any, int] = {}
        self.looks: list[set[Any]] = []
        self.forgotten: list[Any] = []
        self.tell: Callable[[Any], None] = print
        self.error: Exception | None = None

    def stamps(self, keys: Any, changed: Callable[[Any], None]) -> dict[Any, Any]:
        self.looks.append(set(keys))
        self.tell = changed
        if self.error is not None:
            raise self.error
        return {key: self.values.get(key) for key in keys}

    def forget(self, key: Any) -> None:
        self.forgotten.append(key)

    def close(self) -> None: ...


async def told_by(scenario: Callable[[AioMetadataStore, TellingStore], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    telling = TellingStore()
    monkeypatch.setattr(aio_store, "open_blocking_store", lambda *_: telling)
    store = AioMetadataStore("sqlite:///none", 5.0, asyncio.get_running_loop())
    await store.start()
    await scenario(store, telling)
    await store.stop()
    telling.tell(1)  # too late


def test_a_store_that_tells_is_not_looked_at_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio_store, "LOOK_INTERVAL_S", 0.0)

    async def scenario(store: AioMetadataStore, telling: TellingStore) -> None:
        changed = [asyncio.Event() for _ in range(3)]
        for ledger_id in range(3):
            store.watch_ledger(ledger_id, changed[ledger_id].set)
        while len(telling.looks) < 3:
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert telling.looks == [{0}, {1}, {2}]
        telling.values[1] = 5
        for _ in range(10):
            telling.tell(1)  # on whatever thread
        await changed[1].wait()
        assert telling.looks[3:] == [{1}]
        telling.values[2] = 5
        for key in 1, None, None, 2:
            telling.tell(key)
        await changed[2].wait()
        assert telling.looks[4:] == [{0, 1, 2}]
        assert not changed[0].is_set()

    asyncio.run(told_by(scenario, monkeypatch))


def test_what_nobody_watches_any_more_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(store: AioMetadataStore, telling: TellingStore) -> None:
        ends = [store.watch_ledger(ledger_id, lambda: None) for ledger_id in (1, 1, 2)]
        for end in (ends[0], ends[2], ends[1]):
            end()
        while len(telling.forgotten) < 2:
            await asyncio.sleep(0)
        assert telling.forgotten == [2, 1]

    asyncio.run(told_by(scenario, monkeypatch))


def test_a_look_that_fails_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio_store, "LOOK_INTERVAL_S", 0.0)

    async def scenario(store: AioMetadataStore, telling: TellingStore) -> None:
        changed = asyncio.Event()
        store.watch_bookies(changed.set)
        while not telling.looks:
            await asyncio.sleep(0)
        telling.values[BOOKIES], telling.error = 1, MetadataUnavailable("gone")
        telling.tell(None)
        while len(telling.looks) < 5:
            await asyncio.sleep(0)
        telling.error = None
        await changed.wait()
        looks = len(telling.looks)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(telling.looks) == looks

    asyncio.run(told_by(scenario, monkeypatch))


def test_a_change_after_a_first_look_that_failed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio_store, "LOOK_INTERVAL_S", 0.0)

    async def scenario(store: AioMetadataStore, telling: TellingStore) -> None:
        changed = asyncio.Event()
        telling.error = MetadataUnavailable("gone")
        store.watch_ledger(1, changed.set)
        while len(telling.looks) < 2:
            await asyncio.sleep(0)
        assert not changed.is_set()
        # Read and then changed, before the first look that succeeds.
        telling.values[1], telling.error = 5, None
        await asyncio.wait_for(changed.wait(), 60)

    asyncio.run(told_by(scenario, monkeypatch))

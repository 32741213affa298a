"""The client on asyncio as its guide shows it, on real bookies."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.aio import BookKeeper
from bookkeeper_tx.errors import (
    ClientClosed,
    IllegalOperation,
    InvalidConfig,
    LedgerClosed,
    LedgerFenced,
    MetadataUnavailable,
)
from bookkeeper_tx.model import LedgerState
from bookkeeper_tx.testing.local_cluster import LocalCluster

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "asyncio.md"

DEBUGGED = """
import asyncio, logging, sys
from bookkeeper_tx.aio import BookKeeper

async def main(uri):
    asyncio.get_running_loop().slow_callback_duration = 60  # of a busy machine no log line shall come
    async with BookKeeper(uri) as bk:
        async with await bk.create_ledger(2, 2, 2) as writer:
            cancelled = writer.append(b"cancelled")
            cancelled.cancel()
            await writer.append_many([b"second", b"third"])
        async with await bk.open_ledger(writer.ledger_id) as reader:
            print([entry.entry_id async for entry in reader])
            async for entry in reader.tail(0):
                break

logging.basicConfig(level=logging.WARNING)
if sys.argv[2] == "uvloop":
    from uvloop import new_event_loop
else:
    new_event_loop = None
with asyncio.Runner(debug=True, loop_factory=new_event_loop) as runner:
    runner.run(main(sys.argv[1]))
"""


def main_of_the_guide() -> Callable[[str], Coroutine[Any, Any, Any]]:
    """Return the function ``main`` of the program on the page."""
    [program] = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(program, str(GUIDE), "exec"), names)
    main: Callable[[str], Coroutine[Any, Any, Any]] = names["main"]
    return main


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("bookies"), bookie_count=2) as cluster:
        yield cluster


def test_the_program_of_the_guide(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert asyncio.run(main_of_the_guide()(cluster.metadata_uri)) == (0, 100, 100, 50, 10_100)
    assert "wrong password" in capsys.readouterr().out


def test_whoever_opens_a_ledger_fences_its_writer(cluster: LocalCluster) -> None:
    async def scenario() -> None:
        async with BookKeeper(cluster.metadata_uri) as bk, BookKeeper(cluster.metadata_uri) as other:
            writer = await bk.create_ledger(2, 2, 2)
            await writer.append(b"kept")
            reader = await other.open_ledger(writer.ledger_id)
            assert (reader.metadata.state, reader.last_add_confirmed) == (LedgerState.CLOSED, 0)
            with pytest.raises(LedgerFenced):
                await writer.append(b"late")

    asyncio.run(scenario())


def test_a_cancelled_append_holds_up_no_other(cluster: LocalCluster) -> None:
    async def scenario() -> None:
        async with BookKeeper(cluster.metadata_uri) as bk:
            writer = await bk.create_ledger(2, 2, 2)
            await writer.append(b"first")
            given_up, *others = [writer.append(b"%d" % number) for number in range(10)]
            given_up.cancel()
            assert await asyncio.gather(*others) == list(range(2, 11))
            with pytest.raises(asyncio.CancelledError):
                await given_up
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await (await bk.open_ledger_no_recovery(writer.ledger_id)).wait_last_add_confirmed(99)
            await writer.close()
            assert writer.last_add_confirmed == 10

    asyncio.run(scenario())


def test_a_tail_ends_when_another_program_closes_the_ledger(cluster: LocalCluster) -> None:
    async def scenario() -> None:
        async with BookKeeper(cluster.metadata_uri) as bk, BookKeeper(cluster.metadata_uri) as other:
            writer = await bk.create_ledger(2, 2, 2)
            async with await other.open_ledger_no_recovery(writer.ledger_id) as reader:
                tailing = asyncio.create_task(_payloads(reader))
                await writer.append_many([b"one", b"two"])
                await writer.close()
                assert await asyncio.wait_for(tailing, 20) == [b"one", b"two"]

    asyncio.run(scenario())


async def _payloads(reader: Any) -> list[bytes]:
    return [entry.payload async for entry in reader.tail()]


def test_a_client_that_is_closed_or_was_never_started(cluster: LocalCluster, tmp_path: Path) -> None:
    async def scenario() -> None:
        bk = BookKeeper(cluster.metadata_uri)
        with pytest.raises(IllegalOperation, match="not started"):
            await bk.create_ledger()
        async with bk:
            writer = await bk.create_ledger(1, 1, 1)
            await writer.append(b"x")
        with pytest.raises(ClientClosed):
            await bk.create_ledger()
        with pytest.raises(ClientClosed):
            await writer.append(b"y")
        await bk.close()
        with pytest.raises(MetadataUnavailable):
            async with BookKeeper(f"sqlite://{tmp_path}/none.sqlite"):
                pass

    asyncio.run(scenario())


def test_without_a_loop_there_is_no_client(cluster: LocalCluster) -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        BookKeeper(cluster.metadata_uri)


def test_a_uri_that_names_no_store_is_refused_at_once() -> None:
    async def scenario() -> None:
        with pytest.raises(InvalidConfig):
            BookKeeper("nonsense://x")

    asyncio.run(scenario())


def test_appends_after_a_close_are_refused_in_the_same_turn(cluster: LocalCluster) -> None:
    async def scenario() -> None:
        async with BookKeeper(cluster.metadata_uri) as bk:
            writer = await bk.create_ledger(1, 1, 1)
            before, closing, after = writer.append(b"x"), writer.close(), writer.append(b"y")
            assert await before == 0
            with pytest.raises(LedgerClosed):
                await after
            await closing
            assert writer.metadata.last_entry_id == 0

    asyncio.run(scenario())


def test_a_close_that_is_given_up_goes_on_for_others(cluster: LocalCluster) -> None:
    async def scenario() -> None:
        bk = BookKeeper(cluster.metadata_uri)
        await bk.start()
        bk.close().cancel()
        await asyncio.gather(bk.close(), bk.close())
        await bk.close()
        with pytest.raises(MetadataUnavailable, match="was stopped"):
            await bk.metadata.list_ledgers()

    asyncio.run(scenario())


not_on_windows = pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not for Windows")


@not_on_windows
def test_it_works_on_uvloop(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    import uvloop

    async def scenario() -> tuple[Any, ...]:
        assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
        found: tuple[Any, ...] = await main_of_the_guide()(cluster.metadata_uri)
        return found

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(scenario()) == (0, 100, 100, 50, 10_100)
    assert "wrong password" in capsys.readouterr().out


@pytest.mark.parametrize("loop", ["asyncio", pytest.param("uvloop", marks=not_on_windows)])
def test_a_loop_in_debug_mode_has_nothing_to_warn_of(cluster: LocalCluster, tmp_path: Path, loop: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(DEBUGGED)
    # -X dev shows what is not closed or awaited; such a warning in a destructor is written as "Exception ignored".
    command = [sys.executable, "-X", "dev", "-W", "error", str(program), cluster.metadata_uri, loop]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "[0, 1, 2]\n"

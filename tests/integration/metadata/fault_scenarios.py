"""What any metadata store has to survive, and what a test of that waits with."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from twisted.internet import reactor, task

from tests.metadata.contract import INFO, METADATA, OTHER_INFO
from tests.reactor_thread import run_in_reactor

REGISTER_AND_WAIT = """
import sys
from twisted.internet import reactor
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import BookieServiceInfo
store = open_metadata_store(sys.argv[1], reactor)
done = store.start().addCallback(lambda _: store.register_bookie("a:1", BookieServiceInfo("127.0.0.1", 9)))
done.addCallbacks(lambda _: print("registered", flush=True), lambda failure: (failure.printTraceback(), reactor.stop()))
reactor.run()
"""


async def sleep(seconds: float) -> None:
    await task.deferLater(reactor, seconds, lambda: None)


async def until(condition: Any, timeout_s: float = 15) -> None:
    for _ in range(int(timeout_s / 0.05)):
        if await condition():
            return
        await sleep(0.05)
    raise AssertionError(f"not so within {timeout_s} s")


def registered_process(uri: str) -> subprocess.Popen[str]:
    """A process that has registered a:1."""
    process = subprocess.Popen(
        [sys.executable, "-c", REGISTER_AND_WAIT, uri], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "registered\n"
    return process


def check_that_a_killed_bookie_is_waited_for(store: Any, uri: str) -> None:
    """Have a process register a bookie in the store at ``uri``, kill it, and register the bookie again."""

    async def prepare() -> None:
        await store.start()
        await store.initialize()

    async def take_over() -> None:
        assert await store.writable_bookies() == {"a:1"}
        await store.register_bookie("a:1", OTHER_INFO)
        assert await store.bookie_info("a:1") == OTHER_INFO
        await store.stop()

    run_in_reactor(prepare)
    process = registered_process(uri)
    process.kill()
    process.wait()
    run_in_reactor(take_over, timeout_s=40)


async def registered_and_watched(store: Any, other: Any) -> list[str]:
    """Register two bookies in one store, and watch in the other; return the list of the changes that are told."""
    await store.start()
    await store.initialize()
    await other.start()
    changes: list[str] = []
    other.watch_bookies(lambda: changes.append("bookies"))
    other.watch_ledger(5, lambda: changes.append("ledger"))
    await store.register_bookie("a:1", INFO)
    await store.register_bookie("b:1", OTHER_INFO, read_only=True)
    return changes


async def registered(other: Any) -> bool:
    """Whether the two bookies are registered."""
    return bool(await other.writable_bookies() == {"a:1"} and await other.read_only_bookies() == {"b:1"})


async def check_that_changes_are_told(store: Any, other: Any, changes: list[str]) -> None:
    """Change what is watched, wait until that is told, and stop both stores."""
    changes.clear()
    await store.create_ledger(5, METADATA)
    await store.unregister_bookie("a:1")

    async def told() -> bool:
        return {"bookies", "ledger"} <= set(changes)

    await until(told)
    await store.stop()
    await other.stop()

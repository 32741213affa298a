"""The wall clock is set back and forward by an hour while a bookie and a client are at work: no timer comes late.

The clock is that of their processes only: ``support/stepped_clock`` takes the place of ``time.time``.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.last_mark import read_last_mark
from bookkeeper_tx.testing.local_cluster import LocalBookie, LocalCluster
from tests.integration.support import programs
from tests.integration.support.our_client import poll
from tests.integration.support.programs import Program
from tests.integration.support.stopped import stopped

HOUR_S = 3600
STEPPED_CLOCK = Path(programs.__file__).parent / "stepped_clock"
SETTINGS = {"flushInterval": 500}

# Each line that it is told has it append an entry, and wait for one that does not come.
CLIENT = """
    import sys, time
    from twisted.internet import reactor

    reactor.seconds = time.monotonic  # the line of the guide

    from twisted.internet import task, threads
    from twisted.internet.defer import Deferred
    from bookkeeper_tx import BookKeeper, ClientConfig
    from bookkeeper_tx.errors import BookKeeperError

    async def tried(promise):
        try:
            return await promise
        except BookKeeperError as error:
            return type(error).__name__

    async def main(reactor, uri):
        async with BookKeeper(uri, ClientConfig(protocol="v3", add_timeout_s=1.0, read_timeout_s=1.0)) as bk:
            writer = await bk.create_ledger(1, 1, 1)
            reader = await bk.open_ledger_no_recovery(writer.ledger_id)
            while True:
                print("ready", flush=True)
                command = (await threads.deferToThread(sys.stdin.readline)).strip()
                if command == "append":
                    print(await tried(writer.append(b"x")))
                elif command == "wait":
                    confirmed = await reader.read_last_add_confirmed()
                    print(await reader.wait_last_add_confirmed(timeout_s=0.5) == confirmed)
                elif command == "read":
                    asked = reader.read_last_add_confirmed()
                    print("asked")
                    print(await tried(asked))
                else:
                    return

    task.react(lambda *arguments: Deferred.fromCoroutine(main(*arguments)), sys.argv[1:])
"""


class SteppedClock:
    """How wrong the clock of the processes is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.step(0)

    def step(self, seconds: int) -> None:
        data = seconds.to_bytes(8, "big", signed=True)
        # In place, and at once: the processes have it in their memory.
        with self.path.open("r+b" if self.path.exists() else "xb", buffering=0) as file:
            file.write(data)


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SteppedClock:
    clock = SteppedClock(tmp_path / "step")
    monkeypatch.setenv("BKTX_CLOCK_STEP", str(clock.path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(STEPPED_CLOCK), os.environ.get("PYTHONPATH")])))
    return clock


@pytest.fixture
def bookie(clock: SteppedClock, tmp_path: Path) -> Iterator[LocalBookie]:
    with LocalCluster(tmp_path, 1, settings=SETTINGS) as cluster:
        yield cluster.bookies[0]


@pytest.fixture
def client(bookie: LocalBookie, clock: SteppedClock, tmp_path: Path) -> Iterator[Program]:
    with Program(CLIENT, f"sqlite://{tmp_path / 'metadata.db'}", python_path=STEPPED_CLOCK) as program:
        yield program


def told(client: Program, *commands: str) -> list[str]:
    """What the client says to each command."""
    answers = []
    for command in commands:
        assert client.line() == "ready"
        client.tell(command)
        answers.append(client.line())
    return answers


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_timers_come_whatever_the_clock_says(bookie: LocalBookie, clock: SteppedClock, client: Program) -> None:
    current = str(bookie.directory / "data" / "current")
    assert told(client, "append") == ["0"]
    for entry_id, step in enumerate((-HOUR_S, HOUR_S, 0), 1):
        mark = read_last_mark(Disk(), [current])
        clock.step(step)
        # The add is journalled, the poll ends in its time at the bookie, and what was added is flushed and marked.
        assert told(client, "append", "wait") == [str(entry_id), "True"]
        assert poll(lambda mark=mark: read_last_mark(Disk(), [current]) > mark), f"no mark after a step of {step} s"
    for step in (-HOUR_S, 0):
        assert client.line() == "ready"
        with stopped(bookie.pid):
            client.tell("read")
            assert client.line() == "asked"
            clock.step(step)
            assert client.line() == "RequestTimedOut"
    client.tell("end")

"""Programs that end, are interrupted or fork while their client is at work: nothing hangs, nothing told is lost.

Each is a process of its own in which every warning is an error, and says nothing on its standard error.
"""

import signal
import time
from typing import Any

import pytest

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.programs import Program, outcome

ON_ASYNCIO = """
    import asyncio, sys
    from bookkeeper_tx.aio import BookKeeper

    acknowledged = {}

    def acknowledge(append):
        if not append.cancelled() and not append.exception():
            acknowledged[append.result()] = True

    async def begin_everything(bk):
        acknowledged.clear()
        writer = await bk.create_ledger(3, 3, 2)
        for number in range(100):
            writer.append(b"%d" % number).add_done_callback(acknowledge)
        reader = await bk.open_ledger_no_recovery(writer.ledger_id)
        waiting = [writer.append_many(b"%d" % number for number in range(100, 300)), writer.close()]
        waiting += [reader.wait_last_add_confirmed(10**6), reader.read_unconfirmed(0, 0), bk.create_ledger(3, 3, 2)]
        waiting += [reader.read_last_add_confirmed(), asyncio.ensure_future(anext(aiter(reader.tail(0))))]
        for each in waiting:
            each.add_done_callback(lambda each: each.cancelled() or each.exception())
        return writer.ledger_id
"""

LEFT_ON_ASYNCIO = f"""{ON_ASYNCIO}
    async def main(delay_s):
        bk = BookKeeper(sys.argv[1])
        await bk.start()
        ledger_id = await begin_everything(bk)
        if delay_s is not None:
            await asyncio.sleep(delay_s)
        return ledger_id

    for delay_s in (None, 0, 0.002, 0.005, 0.01, 0.02):
        print(asyncio.run(main(delay_s)), *acknowledged)
"""

CLOSED_ON_ASYNCIO = f"""{ON_ASYNCIO}
    async def main(delay_s):
        global ledger_id
        async with BookKeeper(sys.argv[1]) as bk:
            ledger_id = await begin_everything(bk)
            await asyncio.sleep(delay_s)
            raise KeyboardInterrupt

    for delay_s in (0, 0.002, 0.01):
        try:
            asyncio.run(main(delay_s))
        except KeyboardInterrupt:
            print(ledger_id, *acknowledged)
"""

LEFT_ON_TWISTED = """
    import sys
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred
    from bookkeeper_tx import BookKeeper

    async def main():
        bk = BookKeeper(sys.argv[1])
        await bk.start()
        writer = await bk.create_ledger(3, 3, 2)
        acknowledged = [await writer.append(b"0")]
        for number in range(1, 100):
            writer.append(b"%d" % number).addCallbacks(acknowledged.append, lambda failure: None)
        reader = await bk.open_ledger_no_recovery(writer.ledger_id)
        waiting = [reader.wait_last_add_confirmed(10**6), reader.read_unconfirmed(0, 0), bk.create_ledger(3, 3, 2)]
        waiting += [writer.append_many(b"%d" % number for number in range(100, 300)), writer.close()]
        for each in [*waiting, reader.read_last_add_confirmed()]:
            each.addErrback(lambda failure: None)
        reactor.addSystemEventTrigger("after", "shutdown", lambda: print(writer.ledger_id, *acknowledged))
        reactor.callLater(float(sys.argv[2]), reactor.stop)

    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(main()))
    reactor.run()
"""

LEFT_BY_A_SCRIPT = """
    import sys
    from bookkeeper_tx.blocking import BookKeeper

    bk = BookKeeper(sys.argv[1])
    bk.start()
    writer = bk.create_ledger(3, 3, 2)
    acknowledged = [writer.append(b"0")]
    later = [writer.append_later(b"%d" % number) for number in range(1, 300)]
    entries = iter(bk.open_ledger_no_recovery(writer.ledger_id).tail(0))
    if sys.argv[2] == "closed":
        bk.close()
        errors = {type(each.exception(20)).__name__ for each in later if each.exception(20)}
        assert errors <= {"ClientClosed"}, errors
    acknowledged += [each.result() for each in later if each.done() and not each.exception()]
    print(writer.ledger_id, *acknowledged)
"""


def nothing_is_lost(cluster: LocalCluster, lines: list[str]) -> None:
    """Each line has a ledger and the entries of it that were acknowledged."""
    with BookKeeper(cluster.metadata_uri) as bk:
        for line in lines:
            ledger_id, *acknowledged = map(int, line.split())
            assert acknowledged == list(range(len(acknowledged)))
            if acknowledged:
                entries = bk.open_ledger(ledger_id).read(0, acknowledged[-1])
                assert entries.payloads == [b"%d" % entry_id for entry_id in acknowledged]


@pytest.mark.parametrize(
    ("program", "arguments", "leaves_open", "lines"),
    [
        pytest.param(LEFT_ON_ASYNCIO, (), True, 6, id="aio"),
        pytest.param(CLOSED_ON_ASYNCIO, (), False, 3, id="aio-closed"),
        pytest.param(LEFT_ON_TWISTED, ("0",), True, 1, id="twisted"),
        pytest.param(LEFT_ON_TWISTED, ("0.005",), True, 1, id="twisted-later"),
        pytest.param(LEFT_BY_A_SCRIPT, ("left",), True, 1, id="blocking"),
        pytest.param(LEFT_BY_A_SCRIPT, ("closed",), False, 1, id="blocking-closed"),
    ],
)
def test_a_program_ends_with_everything_under_way(
    cluster: LocalCluster, program: str, arguments: tuple[str, ...], leaves_open: bool, lines: int
) -> None:
    code, printed, errors = outcome(program, cluster.metadata_uri, *arguments, leaves_open=leaves_open)
    assert (code, errors, len(printed)) == (0, "", lines)
    nothing_is_lost(cluster, printed)


INTERRUPTED_SCRIPT = """
    import sys
    from bookkeeper_tx.blocking import BookKeeper

    with BookKeeper(sys.argv[1]) as bk:
        writer, closing, other = (bk.create_ledger(3, 3, 3) for _ in range(3))
        for each in writer, closing, other:
            each.append(b"0")
        reader = bk.open_ledger_no_recovery(writer.ledger_id)
        sure = bk.create_ledger(3, 3, 3)
        sure.append_many([b"x"] * 100)
        sure.close()
        closed = bk.open_ledger(sure.ledger_id)
        calls = {
            "append": lambda: writer.append(b"1"),
            "append_many": lambda: writer.append_many([b"2", b"3"]),
            "append_many of any": lambda: writer.append_many(b"%d" % number for number in range(4, 300)),
            "force": writer.force,
            "close": lambda: (closing.append_later(b"1"), closing.close()),
            "open_ledger": lambda: bk.open_ledger(other.ledger_id),
            "bookie_info": lambda: bk.bookie_info(next(iter(bk.writable_bookies()))),
            "read": lambda: closed.read(0, 99),
            "read_entry": lambda: closed.read_entry(0),
            "read_batch": lambda: closed.read_batch(0),
            "read_last_add_confirmed": reader.read_last_add_confirmed,
            "wait_last_add_confirmed": reader.wait_last_add_confirmed,
            "iteration": lambda: list(closed),
            "tail": lambda: list(reader.tail()),
        }
        print(len(calls))
        for name, call in calls.items():
            try:
                sys.stdin.readline()
                print(name)
                call()
            except KeyboardInterrupt:
                print("interrupted")
        sys.stdin.readline()
        last = writer.append(b"last")
        writer.close()
        closing.close()
        bk.open_ledger(other.ledger_id)
        print(writer.ledger_id, last, len(closed.read(0, 99)))
"""


def test_an_interrupt_ends_whatever_call_waits(cluster: LocalCluster, stopped: Any) -> None:
    with Program(INTERRUPTED_SCRIPT, cluster.metadata_uri) as program:
        count = int(program.line())
        assert count > 10
        with stopped(cluster.bookie_ids):
            for _ in range(count):
                program.tell("go on")
                name = program.line()
                time.sleep(0.05)
                program.process.send_signal(signal.SIGINT)
                assert (name, program.line()) == (name, "interrupted")
        program.tell("go on")
        code, [line], errors = program.ended()
    assert (code, errors) == (0, "")
    ledger_id, last, count = map(int, line.split())
    assert count == 100
    with BookKeeper(cluster.metadata_uri) as bk:
        payloads = bk.open_ledger(ledger_id).read(0, last).payloads
    # What was given up may be stored or not; what is there has its order.
    numbers = list(map(int, payloads[:-1]))
    assert (payloads[0], payloads[-1], numbers) == (b"0", b"last", sorted(set(numbers)))


INTERRUPTED_ON_ASYNCIO = """
    import asyncio, sys
    from bookkeeper_tx.aio import BookKeeper

    async def main():
        async with BookKeeper(sys.argv[1]) as bk, await bk.create_ledger(3, 3, 2) as writer:
            print(writer.ledger_id)
            while True:
                print(await writer.append(b"x"))

    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        print("interrupted")
"""

INTERRUPTED_ON_TWISTED = """
    import sys
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred
    from bookkeeper_tx import BookKeeper

    async def main():
        bk = BookKeeper(sys.argv[1])
        reactor.addSystemEventTrigger("before", "shutdown", bk.close)
        await bk.start()
        writer = await bk.create_ledger(3, 3, 2)
        reactor.addSystemEventTrigger("before", "shutdown", writer.close)
        print(writer.ledger_id)
        while True:
            print(await writer.append(b"x"))

    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(main()).addErrback(lambda failure: None))
    reactor.run()
    print("interrupted")
"""


@pytest.mark.parametrize("program", [INTERRUPTED_ON_ASYNCIO, INTERRUPTED_ON_TWISTED], ids=["aio", "twisted"])
def test_an_interrupt_ends_a_loop_that_appends(cluster: LocalCluster, program: str) -> None:
    with Program(program, cluster.metadata_uri) as running:
        ledger_id, first = int(running.line()), running.line()
        running.process.send_signal(signal.SIGINT)
        code, [*ids, end], errors = running.ended()
    assert (code, errors, end) == (0, "", "interrupted")
    with BookKeeper(cluster.metadata_uri) as bk:
        assert bk.open_ledger(ledger_id).last_add_confirmed >= int([first, *ids][-1])


FORKED = """
    import os, sys, warnings
    from bookkeeper_tx.errors import IllegalOperation

    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads

    def told(use):
        try:
            use()
        except IllegalOperation as error:
            assert "parent process" in str(error), error
        else:
            raise AssertionError("not told")
"""

FORKED_SCRIPT = f"""{FORKED}
    import concurrent.futures
    from bookkeeper_tx.blocking import BookKeeper

    with BookKeeper(sys.argv[1]) as bk:
        writer = bk.create_ledger(3, 3, 2)
        writer.append(b"0")
        reader = bk.open_ledger_no_recovery(writer.ledger_id)
        later = [writer.append_later(b"%d" % number) for number in range(1, 100)]
        last = writer.append_later(b"%d" % 100)
        child = os.fork()
        if not child:
            for use in (lambda: writer.append(b"x"), lambda: writer.append_many(iter([b"x"])), writer.close,
                        bk.create_ledger, bk.close, lambda: reader.read_entry(0), lambda: next(iter(reader.tail(0)))):
                told(use)
            assert concurrent.futures.wait([last], 20).done, "who waits for several is told as well"
            if last.exception():
                told(last.result)
            with BookKeeper(sys.argv[1]) as own:
                assert own.open_ledger_no_recovery(writer.ledger_id).read_entry(0).payload == b"0"
            with reader, writer:  # and bk: what is inherited is not closed
                sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        print(writer.ledger_id, 0, *(each.result() for each in [*later, last]))
        writer.close()
"""

FORKED_ON_ASYNCIO = f"""{FORKED}
    import asyncio
    from bookkeeper_tx.aio import BookKeeper

    async def main():
        async with BookKeeper(sys.argv[1]) as bk, await bk.create_ledger(3, 3, 2) as writer:
            appended = [writer.append(b"%d" % number) for number in range(100)]
            reader = await bk.open_ledger_no_recovery(writer.ledger_id)
            await appended[0]
            child = os.fork()
            if not child:
                for use in (lambda: writer.append(b"x"), writer.close, bk.create_ledger, bk.close,
                            lambda: reader.read_unconfirmed(0, 0)):
                    told(use)
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            print(writer.ledger_id, *[await each for each in appended])

    asyncio.run(main())
"""

FORKED_ON_TWISTED = f"""{FORKED}
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred
    from bookkeeper_tx import BookKeeper

    async def main():
        bk = BookKeeper(sys.argv[1])
        async with bk, await bk.create_ledger(3, 3, 2) as writer:
            appended = [writer.append(b"%d" % number) for number in range(100)]
            await appended[0]
            child = os.fork()
            if not child:
                for use in bk.create_ledger, lambda: bk.open_ledger(writer.ledger_id), writer.force:
                    told(use)
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            print(writer.ledger_id, 0, *[await each for each in appended[1:]])
        reactor.stop()

    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(main()))
    reactor.run()
"""


@pytest.mark.parametrize(
    "program", [FORKED_SCRIPT, FORKED_ON_ASYNCIO, FORKED_ON_TWISTED], ids=["blocking", "aio", "twisted"]
)
def test_a_child_is_told_and_its_parent_goes_on(cluster: LocalCluster, program: str) -> None:
    code, printed, errors = outcome(program, cluster.metadata_uri)
    assert (code, errors, len(printed)) == (0, "", 1)
    nothing_is_lost(cluster, printed)

"""A read that waits longer than its bookie's reads did is told, once, and goes on waiting."""

from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.long_poll import AwaitLastAddConfirmed
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from bookkeeper_tx.transport.pace import FIRST
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from protocol_specs.wire.operations import V3Operation
from tests.protocol.client.v3_answers import answer
from tests.transport.puppet import Puppet
from tests.transport.test_time_outs import KEY, add_reply, read_reply


class Read:
    """What waits for an answer, and wants to know when it takes long."""

    def __init__(self, puppet: "Bench", name: str) -> None:
        self._puppet = puppet
        self._name = name

    def done(self, error: Any, value: Any) -> None:
        self._puppet.done.append((self._name, error and type(error), value))

    def slow(self) -> None:
        self._puppet.slow.append(self._name)


class Wrong(Read):
    """Is told that its answer takes long, and makes a mistake."""

    def slow(self) -> None:
        raise ZeroDivisionError


class Bench(Puppet):
    """A bookie which has answered eight reads after 0.2 s each."""

    def __init__(self, protocol: str = "v2", **settings: Any) -> None:
        super().__init__()
        config = ClientConfig(protocol=protocol, read_timeout_s=5, **settings)
        self.slow: list[str] = []
        self.v3 = protocol == "v3"
        self.channel = BookieChannel(TwistedDriver(self.reactor), self.resolve, config)
        self.channel.read_entry(1, 100, Read(self, "first").done)
        self.accept()
        self.answer(100, number=1)
        for number in range(2, FIRST + 2):
            self.read("early", 100)
            self.reactor.advance(0.2)
            self.answer(100, number=number)
        self.done.clear()

    def read(self, name: str, entry_id: int = 2) -> None:
        self.channel.read_entry(1, entry_id, Read(self, name).done)
        self.reactor.advance(0)

    def answer(self, entry_id: int, number: int) -> None:
        reply = read_reply(entry_id)
        if self.v3:
            reply = answer(V3Operation.READ_ENTRY, number, ledger_id=1, entry_id=entry_id, body=bytes(40))
        self.protocol.dataReceived(reply)

    def pass_s(self, seconds: float) -> None:
        self.reactor.pump([0.01] * round(seconds * 100))


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_it_is_told_when_it_takes_longer_than_the_others(protocol: str) -> None:
    bench = Bench(protocol)
    bench.read("hangs", 1)
    bench.pass_s(0.15)
    bench.read("later", 2)
    assert not bench.slow
    bench.pass_s(0.1)
    assert bench.slow == ["hangs"]
    bench.pass_s(0.15)
    assert bench.slow == ["hangs", "later"], "each of them once"
    bench.pass_s(1)
    bench.answer(1, FIRST + 2)
    assert (bench.slow, [name for name, *_ in bench.done]) == (["hangs", "later"], ["hangs"]), "and it goes on"


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_a_read_that_hangs_is_told_while_later_ones_are_answered(protocol: str) -> None:
    bench = Bench(protocol)
    bench.read("hangs", 1)
    for step in range(10):
        bench.read("served", 2)
        bench.pass_s(0.05)
        bench.answer(2, FIRST + 3 + step)
    assert bench.slow == ["hangs"]


def test_a_read_is_spared_while_those_before_it_are_answered() -> None:
    bench = Bench()
    for entry_id in range(20):
        bench.read(f"{entry_id}", entry_id)
    for entry_id in range(20):
        bench.pass_s(0.15)
        bench.answer(entry_id, 0)
    assert not bench.slow, "though the last waited for three seconds: the link is slow, and another would be no faster"


def test_and_while_the_bytes_of_its_answer_come() -> None:
    bench = Bench()
    bench.read("large", 1)
    reply = read_reply(1, 40_000)
    for start in range(0, len(reply), 4000):
        bench.pass_s(0.15)
        bench.protocol.dataReceived(reply[start : start + 4000])
    assert not bench.slow
    assert len(bench.done) == 1


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_a_range_is_told_once(protocol: str) -> None:
    bench = Bench(protocol)
    bench.channel.read_range(1, 0, 99, Read(bench, "range").done)
    bench.pass_s(1)
    assert bench.slow == ["range"]


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_a_range_that_has_all_that_it_wants_is_not(protocol: str) -> None:
    bench = Bench(protocol)
    bench.channel.read_range(1, 0, 9, Read(bench, "range").done, 60)
    for entry_id in (0, 1):
        bench.answer(entry_id, FIRST + 2 + entry_id)
    assert [name for name, *_ in bench.done] == ["range"]
    bench.pass_s(1)
    assert not bench.slow


@pytest.mark.parametrize("cut", [0, 10])
def test_answers_to_adds_do_not_hide_a_read_that_hangs(cut: int) -> None:
    """Nor parts of them."""
    bench = Bench()
    bench.read("hangs", 1)
    replies = b""
    for number in range(40):
        entry = (1).to_bytes(8, "big") + number.to_bytes(8, "big") + bytes(24)
        bench.channel.add_entry(1, number, entry, KEY, Read(bench, "add").done)
        bench.pass_s(0.02)
        replies += add_reply(number)
        whole = len(replies) - cut
        bench.protocol.dataReceived(replies[:whole])
        replies = replies[whole:]
    assert len(bench.done) >= 39
    assert bench.slow == ["hangs"]


@pytest.mark.parametrize("own_connection", [False, True])
def test_a_batch_is_told_whatever_connection_it_has(own_connection: bool) -> None:
    bench = Bench()
    bench.channel.send(ReadBatch(1, 0, 10, 1000), Read(bench, "batch").done, own_connection)
    if own_connection:
        bench.accept()
    bench.pass_s(1)
    assert bench.slow == ["batch"]


def test_one_that_was_given_up_is_not() -> None:
    bench = Bench()
    bench.channel.send(ReadBatch(1, 0, 10, 1000), Read(bench, "batch").done)()
    bench.pass_s(1)
    assert not bench.slow


def test_only_reads_say_how_fast_reads_are() -> None:
    bench = Bench("v3")
    for number in range(40):
        bench.channel.send(ForceLedger(1), Read(bench, "force").done)
        bench.pass_s(0.5)
        bench.protocol.dataReceived(answer(V3Operation.FORCE_LEDGER, FIRST + 2 + number, ledger_id=1))
    assert len(bench.done) == 40
    assert (bench.slow, bench.channel.pace.speculation_s) == ([], pytest.approx(0.2))


def test_nor_a_long_poll_which_is_to_wait() -> None:
    bench = Bench("v3")
    bench.channel.send(AwaitLastAddConfirmed(1, 0, 30_000, True), Read(bench, "poll").done)
    bench.pass_s(2)
    assert not bench.slow


def test_one_that_waits_for_a_connection_is_told() -> None:
    puppet = Bench()
    puppet.lose()
    puppet.read("reads", 1)
    puppet.pass_s(0.45)
    assert not puppet.slow
    puppet.pass_s(0.1)
    assert puppet.slow == ["reads"]
    puppet.accept()
    puppet.answer(1, 0)
    assert [name for name, *_ in puppet.done] == ["reads"]


def test_a_mistake_of_one_that_waits_for_a_connection_keeps_no_other_from_it() -> None:
    bench = Bench()
    bench.lose()
    bench.channel.read_entry(1, 1, Wrong(bench, "wrong").done)
    bench.read("right", 2)
    bench.pass_s(0.6)
    bench.accept()
    for entry_id in (1, 2):
        bench.answer(entry_id, 0)
    assert [name for name, *_ in bench.done] == ["wrong", "right"]


def test_what_takes_the_place_of_one_gets_its_answer() -> None:
    bench = Bench()

    class Replaced(Read):
        def slow(self) -> Any:  # type: ignore[override]
            return Read(bench, "other").done

    for entry_id in (1, 1, 2):
        bench.channel.read_entry(1, entry_id, Replaced(bench, "replaced").done)
    bench.channel.read_range(1, 10, 10, Replaced(bench, "replaced").done)
    bench.pass_s(0.5)
    for entry_id in (1, 1, 2, 10):
        bench.answer(entry_id, 0)
    assert [name for name, *_ in bench.done] == ["other"] * 4


def test_a_program_that_was_away_itself_tells_nobody() -> None:
    bench = Bench()
    bench.read("a", 1)
    bench.reactor.advance(0)
    bench.reactor.rightNow += 10
    bench.reactor.advance(0)
    bench.answer(1, 0)
    bench.pass_s(0.1)
    assert (bench.slow, len(bench.done)) == ([], 1)


def test_a_mistake_of_one_keeps_no_other_from_knowing() -> None:
    bench = Bench()
    bench.channel.read_entry(1, 1, Wrong(bench, "wrong").done)
    bench.read("right", 2)
    bench.pass_s(0.5)
    assert bench.slow == ["right"]


def test_with_speculation_off_nobody_is_told() -> None:
    bench = Bench(speculative_read_s_max=0)
    bench.read("hangs", 1)
    bench.pass_s(4)
    assert not bench.slow


def test_nothing_is_left_of_a_connection_that_was_lost() -> None:
    bench = Bench()
    bench.read("a", 1)
    bench.lose()
    assert not bench.reactor.getDelayedCalls()

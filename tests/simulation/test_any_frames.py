"""For any bytes from clients, in any pieces: no exception, every reply is a frame, and other clients are served.

Clients send valid frames of both protocol versions, frames with some bytes changed, and junk, to a whole bookie on a
disk in memory; they stop reading replies, and disconnect.  Among them a correct client adds and reads, and gets the
right answer to every request.
"""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import globalLogPublisher

from bookkeeper_tx.bookie.bookie import Bookie, Workers
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.transport.bookie_factory import BookieFactory
from bookkeeper_tx.transport.bookie_protocol import BookieProtocol
from protocol_specs.wire import v3_pb2
from tests.bookie.crashing_disk import DIRECTORY, new_disk
from tests.bookie.workers import SteppedWorker
from tests.sampling import examples

FRAME_SIZE_MAX = 20_000
POLLS_MAX = 3
QUEUED_BYTES_MAX = 50_000
CONFIG = BookieConfig(
    metadata_uri="",
    journal_directory=DIRECTORY,
    ledger_directory=DIRECTORY,
    frame_size_max=FRAME_SIZE_MAX,
    long_polls_per_connection_max=POLLS_MAX,
    connection_requests_bytes_max=QUEUED_BYTES_MAX,
    write_cache_bytes_max=100_000,
    long_poll_timeout_max_s=5.0,
)
KEY = b"k" * 20
GOOD_LEDGER, GOOD_KEY = 0x5EED, b"g" * 20
STRANGERS = 3


# What clients send ---------------------------------------------------------------------------------------------------


def number(value: int, size: int) -> bytes:
    return (value % 2 ** (8 * size)).to_bytes(size, "big")


def entry(ledger_id: int, entry_id: int, size: int = 41) -> bytes:
    return (number(ledger_id, 8) + number(entry_id, 8) + number(entry_id - 1, 8)).ljust(size, b".")


def scoped_entry(ledger_id: int, entry_id: int, size: int) -> bytes:
    return (b"\xa0" + number(5, 8) + entry(ledger_id, entry_id, 24)).ljust(size, b".")


def framed(body: bytes) -> bytes:
    return number(len(body), 4) + body


LEDGERS = st.integers(1, 3) | st.sampled_from([-1, 2**63 - 1])
ENTRIES = st.integers(-2, 6) | st.sampled_from([2**40, 2**63 - 1, -(2**63)])
SIZES = st.integers(16, 60) | st.just(5000)
KEYS = st.just(KEY) | st.just(b"o" * 20)
MOSTLY = st.sampled_from([True, True, True, False])
VERSIONS = st.sampled_from([2, 2, 2, 0, 1, 3])


def v2_head(version: int, operation: int, flags: int) -> bytes:
    return number(operation, 4) if version == 0 else bytes([version, operation]) + number(flags, 2)


@st.composite
def v2_frames(draw: st.DrawFn) -> bytes:
    operation = draw(st.sampled_from([1, 1, 2, 2, 7, 3]))
    head = v2_head(draw(VERSIONS), operation, draw(st.integers(0, 7)))
    ledger_id, entry_id = draw(LEDGERS), draw(ENTRIES)
    if operation == 1:
        return framed(head + draw(KEYS) + entry(ledger_id, entry_id, draw(SIZES)))
    if operation == 3:
        return framed(head + v3_pb2.AuthMessage(auth_plugin_name="a", payload=b"b").SerializeToString())
    body = head + number(ledger_id, 8) + number(entry_id, 8)
    if operation == 7:
        body += number(7, 8) + number(draw(st.integers(-1, 9)), 4) + number(draw(st.integers(-1, 9000)), 8)
    return framed(body + draw(st.just(b"") | KEYS))


@st.composite
def v3_frames(draw: st.DrawFn) -> bytes:
    operation = draw(st.integers(1, 12))
    ids = {"ledger_id": draw(LEDGERS), "ledger_scope_id": draw(st.sampled_from([None, None, 0, 5]))}
    entry_id, key, flag = draw(ENTRIES), draw(KEYS), draw(st.sampled_from([None, 1, 2]))
    poll = {"previous_lac": draw(ENTRIES), "time_out": draw(st.sampled_from([None, 0, 100, 2**62]))}
    if not draw(st.booleans()):
        poll = {}
    make = scoped_entry if ids["ledger_scope_id"] and draw(MOSTLY) else entry
    add = {"master_key": key, "body": make(ids["ledger_id"], entry_id, draw(SIZES))}
    limits = {"max_count": 9, "max_size": 9000}
    parts: dict[int, dict[str, Any]] = {
        1: {"read_request": {**ids, "entry_id": entry_id, "master_key": key, "flag": flag, **poll}},
        2: {"add_request": {**ids, "entry_id": 1, **add, "write_flags": draw(st.sampled_from([None, 0, 1, 3]))}},
        5: {"auth_request": {"auth_plugin_name": "a", "payload": b"b"}},
        6: {"write_lac_request": {**ids, "lac": entry_id, "master_key": key, "body": add["body"][: draw(SIZES)]}},
        7: {"read_lac_request": ids},
        8: {"get_bookie_info_request": {"requested": draw(st.integers(0, 3))}},
        9: {"start_tls_request": {}},
        10: {"force_ledger_request": ids},
        11: {"get_list_of_entries_of_ledger_request": ids},
        12: {"batch_read_request": {**ids, "start_entry_id": entry_id, **limits, "flag": flag, **poll}},
    }
    version, txn_id = draw(st.sampled_from([3, 3, 3, 2])), draw(st.integers(0, 300))
    header = {"version": version, "operation": operation, "txn_id": txn_id}
    message = v3_pb2.Request(header=header, **parts.get(operation, {}))  # type: ignore[arg-type]
    if draw(st.booleans()):
        message.request_context.add(key="a", value="b")
    return framed(message.SerializeToString())


FRAMES = st.one_of(v2_frames(), v3_frames())


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    dialect = draw(st.sampled_from([v2_frames(), v3_frames(), FRAMES]))
    stream = bytearray(b"".join(draw(st.lists(dialect, max_size=12))))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        if stream:
            at = draw(st.integers(0, len(stream) - 1))
            change = draw(st.binary(max_size=3))
            stream[at : at + draw(st.integers(0, 3))] = change
    return bytes(stream) + draw(st.just(b"") | st.binary(max_size=30))


# Clients and bookie --------------------------------------------------------------------------------------------------


class Transport(StringTransport):
    aborted = False

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass

    def abortConnection(self) -> None:
        self.aborted = True


class Client:
    """One connection."""

    def __init__(self, factory: BookieFactory) -> None:
        self.protocol: BookieProtocol = factory.buildProtocol(None)
        self.transport = Transport()
        self.protocol.makeConnection(self.transport)
        self.slow = False

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            if self.transport.producerState == "producing" and not self.transport.aborted:
                self.protocol.dataReceived(piece)

    def lose(self) -> None:
        self.protocol.connectionLost()

    def replies(self) -> Iterator[bytes]:
        """Return the frames received since the last call; each must be whole."""
        received = self.transport.value()
        self.transport.clear()
        at = 0
        while at < len(received):
            end = at + 4 + int.from_bytes(received[at : at + 4], "big")
            assert end <= len(received)
            yield received[at + 4 : end]
            at = end


@settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
class AnyFrames(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.failures: list[Any] = []
        self.observe = lambda event: self.failures.append(event) if "log_failure" in event else None
        globalLogPublisher.addObserver(self.observe)
        disk = new_disk()
        self.clock = Clock()
        self.workers = [SteppedWorker(), SteppedWorker(), SteppedWorker()]
        workers: Any = self.workers
        self.bookie = Bookie(disk, DIRECTORY, DIRECTORY, CONFIG, self.clock, Workers(*workers), self.failures.append)
        starting = Deferred.fromCoroutine(self.bookie.start())
        self.settle()
        assert starting.called
        dispatch = self.bookie.dispatch
        self.factory = BookieFactory(partial(ServerConnection, FRAME_SIZE_MAX), dispatch.serve)
        dispatch.brake = self.factory
        self.strangers = [Client(self.factory) for _ in range(STRANGERS)]
        self.good = {"v2": Client(self.factory), "v3": Client(self.factory)}
        self.added = 0

    def teardown(self) -> None:
        try:
            self.end()
        finally:
            globalLogPublisher.removeObserver(self.observe)

    def settle(self) -> None:
        while any(worker.jobs or worker.results for worker in self.workers):
            for worker in self.workers:
                worker.run_all()

    # Strangers -------------------------------------------------------------------------------------------------------

    @rule(who=st.integers(0, STRANGERS - 1), stream=streams(), data=st.data())
    def send(self, who: int, stream: bytes, data: st.DataObject) -> None:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
        edges = [0, *cuts, len(stream)]
        self.strangers[who].send(*(stream[a:b] for a, b in pairwise(edges)))

    @rule(who=st.integers(0, STRANGERS - 1))
    def toggle_slow(self, who: int) -> None:
        client = self.strangers[who]
        client.slow = not client.slow
        client.protocol.pauseProducing() if client.slow else client.protocol.resumeProducing()

    @rule(who=st.integers(0, STRANGERS - 1))
    def go(self, who: int) -> None:
        self.strangers[who].lose()
        self.strangers[who] = Client(self.factory)

    @rule(which=st.integers(0, 2))
    def work(self, which: int) -> None:
        worker = self.workers[which]
        if worker.jobs:
            worker.execute()
        if worker.results:
            worker.deliver()

    @rule(seconds=st.floats(0.01, 12))
    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)

    # The correct client ----------------------------------------------------------------------------------------------

    @rule(dialect=st.sampled_from(["v2", "v3"]), size=SIZES.filter(lambda size: size >= 24))
    def add_and_read(self, dialect: str, size: int) -> None:
        self.settle()
        stored = entry(GOOD_LEDGER, self.added, size)
        assert (self.add_v2 if dialect == "v2" else self.add_v3)(stored)
        assert (self.read_v2 if dialect == "v2" else self.read_v3)(self.added) == stored
        self.added += 1

    def ask(self, dialect: str, body: bytes) -> bytes:
        client = self.good[dialect]
        client.send(framed(body))
        self.settle()
        (reply,) = client.replies()
        return reply

    def add_v2(self, stored: bytes) -> bool:
        return self.ask("v2", bytes.fromhex("02010000") + GOOD_KEY + stored)[4:8] == bytes(4)

    def read_v2(self, entry_id: int) -> bytes:
        reply = self.ask("v2", bytes.fromhex("02020000") + number(GOOD_LEDGER, 8) + number(entry_id, 8))
        assert reply[4:8] == bytes(4)
        return reply[24:]

    def ask_v3(self, operation: int, **part: Any) -> Any:
        header = {"version": 3, "operation": operation, "txn_id": self.added}
        reply = self.ask("v3", v3_pb2.Request(header=header, **part).SerializeToString())  # type: ignore[arg-type]
        answered = v3_pb2.Response.FromString(reply)
        assert answered.header.txn_id == self.added
        return answered

    def add_v3(self, stored: bytes) -> bool:
        part = v3_pb2.AddRequest(ledger_id=GOOD_LEDGER, entry_id=self.added, master_key=GOOD_KEY, body=stored)
        return bool(self.ask_v3(2, add_request=part).status == v3_pb2.EOK)

    def read_v3(self, entry_id: int) -> bytes:
        part = v3_pb2.ReadRequest(ledger_id=GOOD_LEDGER, entry_id=entry_id)
        return bytes(self.ask_v3(1, read_request=part).read_response.body)

    # What always holds -----------------------------------------------------------------------------------------------

    @invariant()
    def nothing_was_raised(self) -> None:
        assert self.failures == []

    @invariant()
    def every_reply_is_a_frame(self) -> None:
        for client in self.strangers:
            for reply in client.replies():
                assert 0 < len(reply) <= FRAME_SIZE_MAX + 100

    @invariant()
    def who_broke_the_protocol_is_gone(self) -> None:
        for who, client in enumerate(self.strangers):
            if client.transport.aborted:
                self.go(who)

    @invariant()
    def what_is_held_is_bounded(self) -> None:
        bookie: Any = self.bookie
        # A few clients may each have one more read of the socket under way when the bookie stops reading.
        assert bookie._journal.queued_bytes <= QUEUED_BYTES_MAX + (STRANGERS + 2) * 12 * 5200
        watch = bookie.dispatch.watch
        assert watch.count <= POLLS_MAX * STRANGERS
        for client in self.strangers:
            frames: Any = client.protocol._connection._frames  # type: ignore[attr-defined]
            assert sum(map(len, frames._pieces)) <= FRAME_SIZE_MAX + 64_000

    def end(self) -> None:
        """Every request has ended."""
        for client in self.strangers:
            if client.slow:
                client.protocol.resumeProducing()
        for _ in range(3):
            self.settle()
            self.clock.advance(20)
        self.settle()
        bookie: Any = self.bookie
        assert (bookie._journal.queued_bytes, bookie.dispatch.watch.count) == (0, 0)


TestAnyFrames = AnyFrames.TestCase

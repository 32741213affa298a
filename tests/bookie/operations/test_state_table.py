"""What a request is answered in which state, for both protocol versions: version, read-only, key, fence, in this order.

The table is `expected_*` below; it is gone through row by row, and in any sequence against a model of one ledger.
"""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.availability import Availability, Reason
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.operations.dispatch import Dispatch
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Flag
from protocol_specs.wire.status import Status
from tests.bookie.operations.served import CheckedClient, config_of
from tests.bookie.seams import KEY, LEDGER, OTHER_KEY, MemoryJournal, MemoryStorage, entry
from tests.bookie.workers import InlineWorker
from tests.protocol.bookie.v3_frames import frame_of

FENCING, RECOVERY, HIGH = int(Flag.FENCING), int(Flag.RECOVERY_ADD), int(Flag.HIGH_PRIORITY)
V2_VERSIONS = (0, 1, 2, 3)
FLAGS = range(8)
STATES = ("unknown", "known", "fenced")
UNKNOWN_VERSION = 3


class Model:
    """A bookie with one ledger, as far as the table knows it."""

    def __init__(self, read_only: bool) -> None:
        self.read_only = read_only
        self.cannot_write = False
        self.key: bytes | None = None
        self.fenced = False
        self.entries: set[int] = set()

    @property
    def last(self) -> int:
        return max(self.entries, default=LAST_ENTRY)

    def expected_add(self, entry_id: int, key: bytes, recovery: bool, high_priority: bool) -> Status:
        if self.cannot_write or (self.read_only and not high_priority):
            return statuses.EREADONLY
        if self.key not in (None, key):
            return statuses.EUA
        self.key = key
        if self.fenced and not recovery:
            return statuses.EFENCED
        self.entries.add(entry_id)
        return statuses.EOK

    def expected_read(self, entry_id: int, fencing: bool, key: bytes | None) -> Status:
        if fencing:
            if key is None or self.key not in (None, key):
                return statuses.EUA
            self.key, self.fenced = key, True
        if self.key is None:
            return statuses.ENOLEDGER
        wanted = self.last if entry_id == LAST_ENTRY else entry_id
        return statuses.EOK if wanted in self.entries else statuses.ENOENTRY


class Bench:
    """A bookie in memory whose journal is synced after each request."""

    def __init__(self, read_only: bool = False) -> None:
        self.storage, self.journal, self.client = MemoryStorage(), MemoryJournal(), CheckedClient()
        self.availability = Availability(read_only)
        parts: Any = (self.storage, self.journal, self.availability)
        self.dispatch = Dispatch(config_of(Path("/d")), Disk(), *parts, Clock(), InlineWorker())
        self.model = Model(read_only)

    def ask(self, frame: bytes) -> bytes:
        (request,) = ServerConnection().receive(len(frame).to_bytes(4, "big") + frame)
        client: Any = self.client
        if isinstance(request, Answered):
            return request.reply
        self.dispatch.serve(request, client)
        self.journal.sync()
        return b"".join(map(bytes, self.client.take()))

    def ask_v2(self, version: int, operation: int, flags: int, body: bytes) -> Status:
        head = bytes([version, operation]) + flags.to_bytes(2, "big") if version else operation.to_bytes(4, "big")
        reply = self.ask(head + body)
        assert reply[4:8] == (bytes([version, operation, 0, 0]) if version else operation.to_bytes(4, "big"))
        return statuses.BY_V2_CODE[int.from_bytes(reply[8:12], "big")]

    def ask_v3(self, operation: int, priority: int, **part: Any) -> Status:
        message = v3_pb2.Response.FromString(self.ask(frame_of(operation, priority=priority, **part))[4:])
        (_, _, (_, carried)) = message.ListFields()
        assert carried.status == message.status
        return statuses.BY_V3_CODE[message.status]

    # Each asks, and returns what came and what should have.

    def add_v2(self, version: int, flags: int, key: bytes, entry_id: int) -> tuple[Status, Status]:
        found = self.ask_v2(version, 1, flags, key + entry(entry_id))
        if version == UNKNOWN_VERSION:
            return found, statuses.EBADVERSION
        flags = flags if version else 0
        return found, self.model.expected_add(entry_id, key, bool(flags & RECOVERY), bool(flags & HIGH))

    def read_v2(self, version: int, flags: int, key: bytes, entry_id: int, batch: bool) -> tuple[Status, Status]:
        ids = LEDGER.to_bytes(8, "big") + entry_id.to_bytes(8, "big", signed=True)
        limits = bytes(8) + (1).to_bytes(4, "big") + bytes(8) if batch else b""
        found = self.ask_v2(version, 7 if batch else 2, flags, ids + limits + key)
        if version == UNKNOWN_VERSION:
            return found, statuses.EBADVERSION
        fencing = bool(flags & FENCING) and version > 0
        return found, self.model.expected_read(entry_id, fencing, key if version > 1 else None)

    def add_v3(self, flag: int | None, priority: int, write_flags: int, key: bytes, entry_id: int) -> Any:
        part = {"ledger_id": 1, "entry_id": 2, "master_key": key, "body": entry(entry_id)}
        found = self.ask_v3(2, priority, add_request={**part, "flag": flag, "write_flags": write_flags})
        return found, self.model.expected_add(entry_id, key, flag == v3_pb2.AddRequest.RECOVERY_ADD, priority > 0)

    def read_v3(self, flag: int | None, key: bytes | None, entry_id: int, batch: bool) -> tuple[Status, Status]:
        part = {"ledger_id": LEDGER, "master_key": key, "flag": flag}
        if batch:
            part |= {"start_entry_id": entry_id, "max_count": 1, "max_size": 0}
            found = self.ask_v3(12, 0, batch_read_request=part)
        else:
            found = self.ask_v3(1, 0, read_request={**part, "entry_id": entry_id})
        return found, self.model.expected_read(entry_id, flag == v3_pb2.ReadRequest.FENCE_LEDGER, key)

    def agrees(self) -> bool:
        """Tell whether the ledger is what the model says, whatever was answered."""
        ledger = self.storage.ledger(LEDGER)
        if ledger is None:
            return self.model.key is None
        stored = {run.first_entry_id for run in self.storage.runs}
        return (ledger.master_key, ledger.fenced, stored) == (self.model.key, self.model.fenced, self.model.entries)


def bench_in(state: str) -> Bench:
    bench = Bench()
    if state != "unknown":
        bench.add_v2(2, 0, KEY, 0)
    if state == "fenced":
        bench.read_v2(2, FENCING, KEY, 0, batch=False)
    return bench


ROWS = list(product(STATES, (KEY, OTHER_KEY)))


@pytest.mark.parametrize(("state", "key"), ROWS)
@pytest.mark.parametrize("version", V2_VERSIONS)
def test_v2_reads_row_by_row(state: str, key: bytes, version: int) -> None:
    for flags, batch, entry_id in product(FLAGS, (False, True), (LAST_ENTRY, 0, 5)):
        bench = bench_in(state)
        found, expected = bench.read_v2(version, flags, key, entry_id, batch)
        assert (found, bench.agrees()) == (expected, True), (flags, batch, entry_id)


@pytest.mark.parametrize(("state", "key"), ROWS)
@pytest.mark.parametrize("version", V2_VERSIONS)
def test_v2_adds_row_by_row(state: str, key: bytes, version: int) -> None:
    for flags in FLAGS:
        bench = bench_in(state)
        found, expected = bench.add_v2(version, flags, key, 1)
        assert (found, bench.agrees()) == (expected, True), flags


@pytest.mark.parametrize("version", V2_VERSIONS)
def test_v2_adds_to_a_read_only_bookie(version: int) -> None:
    for flags, key in product(FLAGS, (KEY, OTHER_KEY)):
        bench = Bench(read_only=True)
        found, expected = bench.add_v2(version, flags, key, 1)
        assert (found, bench.agrees()) == (expected, True), flags


class Sequences(RuleBasedStateMachine):
    """Requests of both protocol versions in any order."""

    @initialize(read_only=st.booleans())
    def start(self, read_only: bool) -> None:
        self.bench = Bench(read_only)

    def check(self, answer: tuple[Status, Status]) -> None:
        found, expected = answer
        assert found is expected
        assert self.bench.agrees()

    @rule(
        version=st.sampled_from(V2_VERSIONS),
        flags=st.integers(0, 7),
        key=st.sampled_from([KEY, KEY, OTHER_KEY]),
        entry_id=st.integers(0, 3),
    )
    def add_v2(self, version: int, flags: int, key: bytes, entry_id: int) -> None:
        self.check(self.bench.add_v2(version, flags, key, entry_id))

    @rule(
        flag=st.sampled_from([None, v3_pb2.AddRequest.RECOVERY_ADD]),
        priority=st.sampled_from([0, 1, 100]),
        write_flags=st.sampled_from([0, 1, 2, -1]),
        key=st.sampled_from([KEY, KEY, OTHER_KEY]),
        entry_id=st.integers(0, 3),
    )
    def add_v3(self, flag: int | None, priority: int, write_flags: int, key: bytes, entry_id: int) -> None:
        self.check(self.bench.add_v3(flag, priority, write_flags, key, entry_id))

    @rule(
        version=st.sampled_from(V2_VERSIONS),
        flags=st.sampled_from([0, 0, 2, 4, 1, 5]),
        key=st.sampled_from([KEY, OTHER_KEY]),
        entry_id=st.integers(-1, 3),
        batch=st.booleans(),
    )
    def read_v2(self, version: int, flags: int, key: bytes, entry_id: int, batch: bool) -> None:
        self.check(self.bench.read_v2(version, flags, key, entry_id, batch))

    @rule(
        flag=st.sampled_from([None, None, v3_pb2.ReadRequest.FENCE_LEDGER, v3_pb2.ReadRequest.ENTRY_PIGGYBACK]),
        key=st.sampled_from([None, KEY, OTHER_KEY]),
        entry_id=st.integers(-1, 3),
        batch=st.booleans(),
    )
    def read_v3(self, flag: int | None, key: bytes | None, entry_id: int, batch: bool) -> None:
        self.check(self.bench.read_v3(flag, key, entry_id, batch))

    @rule(cannot_write=st.booleans())
    def fill_or_clear_the_disk(self, cannot_write: bool) -> None:
        self.bench.model.cannot_write = cannot_write
        self.bench.availability.note(Reason.FLUSH_FAILED, cannot_write)


TestSequences = Sequences.TestCase
TestSequences.settings = settings(deadline=None)

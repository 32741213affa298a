"""What a bookie answers of a ledger in limbo, operation by operation, over V2 and V3."""

from pathlib import Path

import pytest

from bookkeeper_tx.entry.entry_run import EntryRun
from compat_tests.judge.case import Dialect
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import KEY, entry, explicit_lac
from compat_tests.wire.replies import Reply, parse
from compat_tests.wire.requests import Requests
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status
from tests.bookie.operations.served import Bookie
from tests.bookie.seams import Client

LEDGER_ID = 77
STORED = 3

pytestmark = pytest.mark.usefixtures("ledger_storage_class")


def unknown_in(dialect: Dialect) -> Status:
    """Return how the answer is told: the number that it has in V2 makes Java's clients close their connection."""
    return statuses.EIO if dialect is Dialect.V2 else statuses.EUNKNOWNLEDGERSTATE


class LimboBookie(Bookie):
    """A bookie that has entry 3 of a ledger in limbo, in memory or on the disk."""

    def __init__(self, directory: Path, fenced: bool, flushed: bool) -> None:
        super().__init__(directory, data_integrity_checking=True)
        self.client = Client()  # type: ignore[assignment]
        ledger, _ = self.storage.open_for(LEDGER_ID, KEY)
        self.storage.limbo.enter(ledger, fenced)
        stored = entry(LEDGER_ID, STORED, STORED - 1)
        self.storage.add(ledger, EntryRun.of_entries(LEDGER_ID, STORED, [stored]))
        if flushed:
            self.storage.flush_now()

    def ask(self, frame: bytes) -> Reply:
        at_once = self.receive(len(frame).to_bytes(4, "big") + frame)
        answers = at_once + self.sync() if self.journal_worker.jobs else at_once
        assert int.from_bytes(answers[:4], "big") == len(answers) - 4
        return parse(answers[4:])


@pytest.fixture(params=["in memory", "flushed"])
def bookie(tmp_path: Path, request: pytest.FixtureRequest) -> LimboBookie:
    return LimboBookie(tmp_path, fenced=True, flushed=request.param == "flushed")


@pytest.fixture(params=list(Dialect), ids=str)
def requests(request: pytest.FixtureRequest) -> Requests:
    return Requests(request.param)


@pytest.mark.parametrize("entry_id", [0, STORED + 1, LAST_ENTRY])
@pytest.mark.parametrize("fencing", [False, True])
def test_what_is_not_here_is_unknown_and_so_is_the_last_entry(
    bookie: LimboBookie, requests: Requests, entry_id: int, fencing: bool
) -> None:
    key = KEY if fencing else None
    read = bookie.ask(requests.read(LEDGER_ID, entry_id, fencing=fencing, key=key))
    assert read.status is unknown_in(requests.dialect)
    batch = bookie.ask(requests.batch_read(LEDGER_ID, entry_id, 5, 10_000, fencing=fencing, key=key))
    assert batch.status is unknown_in(requests.dialect)


@pytest.mark.parametrize("fencing", [False, True])
def test_an_entry_that_is_here_is_served(bookie: LimboBookie, requests: Requests, fencing: bool) -> None:
    key = KEY if fencing else None
    read = bookie.ask(requests.read(LEDGER_ID, STORED, fencing=fencing, key=key))
    assert (read.status, read.body) == (statuses.EOK, entry(LEDGER_ID, STORED, STORED - 1))
    batch = bookie.ask(requests.batch_read(LEDGER_ID, STORED, 5, 10_000, fencing=fencing, key=key))
    assert (batch.status, list(batch.entries)) == (statuses.EOK, [entry(LEDGER_ID, STORED, STORED - 1)])


def test_a_fenced_ledger_takes_recovery_adds_only(bookie: LimboBookie, requests: Requests) -> None:
    assert bookie.ask(requests.add(LEDGER_ID, 9)).status is statuses.EFENCED
    assert bookie.ask(requests.add(LEDGER_ID, 9, recovery=True)).status is statuses.EOK
    assert bookie.ask(requests.read(LEDGER_ID, 9)).status is statuses.EOK


def test_a_ledger_that_was_never_fenced_here_is_written_on(tmp_path: Path, requests: Requests) -> None:
    """It is in limbo for earlier entries than those that its writer sends now."""
    bookie = LimboBookie(tmp_path, fenced=False, flushed=False)
    assert bookie.ask(requests.add(LEDGER_ID, 9)).status is statuses.EOK
    assert bookie.ask(requests.read(LEDGER_ID, 8)).status is unknown_in(requests.dialect)
    bookie.ask(requests.fence(LEDGER_ID, 9))
    assert bookie.ask(requests.add(LEDGER_ID, 10)).status is statuses.EFENCED


@pytest.mark.parametrize(
    "frame",
    [
        v3_requests.poll(LEDGER_ID, -1),
        v3_requests.poll(LEDGER_ID, STORED, 1000),
        v3_requests.poll(LEDGER_ID, -1, 1000, flag=None, entry_id=STORED),
        v3_requests.batch_read(LEDGER_ID, STORED, 5, 10_000, previous_lac=STORED, time_out=1000),
        v3_requests.read_lac(LEDGER_ID),
        v3_requests.list_entries(LEDGER_ID),
    ],
    ids=["poll", "poll that waits", "poll for an entry", "batch read that waits", "READ_LAC", "list"],
)
def test_what_is_confirmed_and_what_is_stored_is_unknown(bookie: LimboBookie, frame: bytes) -> None:
    reply = bookie.ask(frame)
    assert reply.status is statuses.EUNKNOWNLEDGERSTATE
    assert reply.part.status == reply.message.status


def test_an_explicit_last_add_confirmed_is_taken_and_the_ledger_forced(bookie: LimboBookie) -> None:
    assert bookie.ask(v3_requests.write_lac(LEDGER_ID, 2, explicit_lac(LEDGER_ID, 2))).status is statuses.EOK
    assert bookie.ask(v3_requests.force(LEDGER_ID)).status is statuses.EOK


def test_out_of_limbo_what_is_not_here_is_missing(bookie: LimboBookie, requests: Requests) -> None:
    ledger = bookie.storage.ledger(LEDGER_ID)
    assert ledger is not None
    bookie.storage.limbo.leave(ledger)
    assert bookie.ask(requests.read(LEDGER_ID, 0)).status is statuses.ENOENTRY
    assert bookie.ask(requests.read(LEDGER_ID)).body == entry(LEDGER_ID, STORED, STORED - 1)

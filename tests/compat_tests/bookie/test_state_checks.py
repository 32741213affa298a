"""The cases of the tables of answers: the replies that they require, and those that they tolerate."""

import pytest

from compat_tests.bookie.state_checks import check_content, check_status, stored_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import V2
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import Site
from compat_tests.wire.replies import Reply
from protocol_specs.wire.answers.tables import ROWS
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import EBADREQ, EIO, ENOENTRY, EOK, Status
from tests.compat_tests.judge.fake_environment import make_case

LEDGER = 9
BATCH = ROWS["batch-read/there/plain"]


def talk() -> Talk:
    return Talk(Brief(make_case("BKW-STATE-999"), V2, seed=1), Site("127.0.0.1", 1))


def batch(*entries: bytes) -> Reply:
    return Reply(V2, b"", Operation.BATCH_READ_ENTRY, 2, EOK, LEDGER, 0, entries=entries)


@pytest.mark.parametrize("count", [1, 2])
def test_a_batch_may_bring_fewer_entries_than_there_are(count: int) -> None:
    asking = talk()
    check_content(BATCH, asking, batch(*(stored_entry(LEDGER, entry_id) for entry_id in range(count))), LEDGER)
    assert len(asking.notes) == 2 - count


@pytest.mark.parametrize("entry_ids", [(), (1,), (0, 1, 3)])
def test_it_may_not_bring_others(entry_ids: tuple[int, ...]) -> None:
    with pytest.raises(Mismatch):
        check_content(BATCH, talk(), batch(*(stored_entry(LEDGER, entry_id) for entry_id in entry_ids)), LEDGER)


@pytest.mark.parametrize(("status", "notes"), [(EBADREQ, 0), (ENOENTRY, 1)])
@pytest.mark.parametrize("key", ["read-entry/below/plain", "batch-read/below/fencing"])
def test_that_there_is_no_entry_below_the_last_may_be_said(key: str, status: Status, notes: int) -> None:
    asking = talk()
    check_status(ROWS[key], asking, Reply(V2, b"", Operation.READ_ENTRY, 2, status, LEDGER, -2))
    assert len(asking.notes) == notes


@pytest.mark.parametrize(("key", "status"), [("read-entry/below/plain", EIO), ("read-entry/there/plain", ENOENTRY)])
def test_nothing_else_may_be_said(key: str, status: Status) -> None:
    with pytest.raises(Mismatch, match="status"):
        check_status(ROWS[key], talk(), Reply(V2, b"", Operation.READ_ENTRY, 2, status, LEDGER, -2))

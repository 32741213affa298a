"""Our bookie, in memory, answers adds and reads as the tables of answers say."""

import pytest

from compat_tests.bookie import state_requests as asked
from compat_tests.bookie.state_checks import stored_entry
from compat_tests.judge.case import Dialect
from compat_tests.wire.replies import Reply, parse
from compat_tests.wire.requests import Requests
from protocol_specs.wire.answers.row import Body, Bookie, Ledger, Operation, Row
from protocol_specs.wire.answers.tables import ROWS
from tests.bookie.operations.test_state_table import Bench

LEDGER_ID = 77
OPERATIONS = (Operation.ADD, Operation.READ, Operation.BATCH_READ)


def _is_tried(row: Row) -> bool:
    """Tell whether storage in memory can tell: which ledgers and keys may be stored is up to the one on disks."""
    return (
        row.request.operation in OPERATIONS
        and row.bookie in (Bookie.SERVING, Bookie.READ_ONLY)
        and row.answer.status is not None
        and not row.request.negative_ledger
        and row.request.body is not Body.KEY_21
    )


TRIED = [
    pytest.param(row, Dialect(dialect), id=f"{row}-{dialect}")
    for row in filter(_is_tried, ROWS.values())
    for dialect in row.dialects
]


def _bench_in(ledger: Ledger, bookie: Bookie, requests: Requests) -> Bench:
    bench = Bench(bookie is Bookie.READ_ONLY)
    if ledger in (Ledger.KNOWN, Ledger.FENCED):
        for entry_id in asked.STORED_IDS:
            add = requests.add(LEDGER_ID, entry_id, body=stored_entry(LEDGER_ID, entry_id), high_priority=True)
            assert _answer(bench, add).status is ROWS["add-entry/known/plain"].answer.status
    if ledger in (Ledger.FENCED, Ledger.FENCED_EMPTY):
        _answer(bench, requests.fence(LEDGER_ID))
    return bench


def _answer(bench: Bench, frame: bytes) -> Reply:
    return parse(bench.ask(frame)[4:])


@pytest.mark.parametrize(("row", "dialect"), TRIED)
def test_the_answer_is_that_of_the_table(row: Row, dialect: Dialect) -> None:
    requests = Requests(dialect)
    bench = _bench_in(row.ledger, row.bookie, requests)
    assert _answer(bench, asked.frame_of(row.request, LEDGER_ID, requests)).status is row.answer.status

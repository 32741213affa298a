"""Every row of the tables of answers has a case, or a reason why it has none."""

from pathlib import Path

import pytest

from compat_tests.bookie.cases import states
from compat_tests.bookie.state_ids import NUMBERS
from compat_tests.bookie.state_requests import frame_of
from compat_tests.catalogue import load
from compat_tests.judge.case import CATALOGUE, SHOULD, Dialect, Role
from compat_tests.judge.verdict import Verdict
from compat_tests.report.published import RUNS
from compat_tests.report.runs import read_json
from compat_tests.wire.requests import Requests
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.answers.row import Body, Row
from protocol_specs.wire.answers.tables import ROWS

ROOT = Path(__file__).parent.parent.parent.parent.parent
REACHABLE = [row for row in ROWS.values() if row.bookie in states.SITES]


@pytest.mark.parametrize("row", ROWS.values(), ids=str)
def test_a_row_has_a_case_or_a_reason_why_not(row: Row) -> None:
    if row.bookie in states.UNREACHABLE:
        assert row.key not in NUMBERS
    else:
        case = CATALOGUE[states.case_id(row)]
        assert case.section == row.table.section
        assert list(case.dialects) == list(row.dialects)
        assert case.title.replace(" ", "") == row.key.replace("/", "").replace("-", "")


def test_no_number_stands_for_two_rows_and_none_for_a_row_that_has_gone() -> None:
    assert len(set(NUMBERS.values())) == len(NUMBERS)
    assert NUMBERS.keys() == {row.key for row in REACHABLE}


@pytest.mark.parametrize("row", REACHABLE, ids=str)
def test_the_request_of_a_row_is_of_its_dialects(row: Row) -> None:
    for dialect in row.dialects:
        frame = frame_of(row.request, 77, Requests(Dialect(dialect)))
        first = frame[0] if frame else 0
        assert (first >= 8) == (dialect == "V3")
        if dialect == "V3":
            assert v3_pb2.Request.FromString(frame).IsInitialized()


def test_what_is_sent_and_accepted_is_told_in_words() -> None:
    row = ROWS["add-entry/fenced-other-key/recovery"]
    case = CATALOGUE[states.case_id(row)]
    assert case.sends == (
        "A request: recovery add of a new entry with another key. To a bookie, a fenced ledger with entries 0, 1 and 3."
    )
    assert case.accepts == "EUA; nothing is stored."


def test_how_much_a_request_without_its_part_binds_is_said_once() -> None:
    """Java 4.18 closes the connection on such a request, and no client sends one: the levels of its cases agree."""
    rows = [row for row in REACHABLE if row.request.body is Body.WITHOUT_PART]
    ids = ["BKW-DETECT-010", "BKW-LIST-014", *(states.case_id(row) for row in rows)]
    assert len(rows) == 2
    assert {case.id: case.level for case in load(Role.BOOKIE) if case.id in ids} == dict.fromkeys(ids, SHOULD)


def test_what_is_said_to_be_seen_of_java_was_seen_of_it() -> None:
    """A case whose answer every release of Java gets wrong, or does not have, needs another source."""
    runs = [run for run in read_json(ROOT / RUNS) if run.target.implementation == "java"]
    fine = {result.case for run in runs for result in run.results if result.verdict is Verdict.PASS}
    cases = [CATALOGUE[states.case_id(row)] for row in REACHABLE]
    seen_of_java = {case.id for case in cases if "seen of Java" in case.provenance}
    assert len(seen_of_java) > 140
    assert seen_of_java <= fine

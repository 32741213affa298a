"""Checks that the cases about reading share, and the reads that they tolerate."""

import pytest

from compat_tests.client.client_requests import BATCH_READ, READ, ClientRequest
from compat_tests.client.readable_ledger import ReadableLedger
from compat_tests.client.rules import Rule
from compat_tests.judge.case import V2


class Stage:
    def __init__(self):
        self.notes = []

    def tolerate(self, note):
        self.notes.append(note)


class Staged:
    ledger_id = 7


class Bookie:
    def __init__(self, *operations):
        self.received = [
            ClientRequest(dialect=V2, operation=each, raw=b"", ledger_id=7, entry_id=5) for each in operations
        ]

    def requests(self, operation=None, **wanted):
        rule = Rule(operation, wanted).silence()
        return [each for each in self.received if rule.takes(each)]


def ledger(*bookies):
    return ReadableLedger(Stage(), Staged(), bookies)


def test_a_batch_of_one_replica_and_single_reads_of_another_are_two_that_were_asked():
    assert ledger(Bookie(BATCH_READ), Bookie(READ, READ), Bookie()).bookies_read_from == 2


@pytest.mark.parametrize("operation", [READ, BATCH_READ])
def test_a_read_of_what_is_then_refused_is_tolerated(operation):
    found = ledger(Bookie(), Bookie(operation))
    found.look_for_needless_reads(entry_id=4)
    assert not found.stage.notes
    found.look_for_needless_reads(entry_id=5)
    assert found.stage.notes

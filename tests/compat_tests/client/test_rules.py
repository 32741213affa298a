"""Rules: which requests they take, and what they do with them."""

import pytest

from compat_tests.client.client_requests import ADD, READ, ClientRequest
from compat_tests.client.rules import Exchange, Rule
from compat_tests.judge.case import V2
from compat_tests.judge.verdict import Mismatch


class Connection:
    """Keeps what is sent."""

    def __init__(self):
        self.sent, self.closed, self.carried_out = [], False, 0

    def carry_out(self, request):
        self.carried_out += 1
        return b"honest %d" % request.entry_id

    def frame(self, request, answer):
        return b"status %d" % answer.status

    def send(self, *frames):
        self.sent += frames

    def send_bytes(self, data):
        self.sent.append(data)

    def close(self):
        self.closed = True


def request(operation=ADD, entry_id=0):
    return ClientRequest(dialect=V2, operation=operation, raw=b"", entry_id=entry_id)


def acted(rule, connection, request):
    assert rule.takes(request)
    rule.action(Exchange(request, connection))


def test_a_rule_takes_the_requests_that_it_names():
    rule = Rule(ADD, {"entry_id": lambda number: number > 1}, nth=2, times=1).silence()
    taken = [rule.takes(request(entry_id=number)) for number in (0, 2, 3, 4)]
    assert taken == [False, False, True, False]
    assert not rule.takes(request(READ, 5))


def test_a_rule_without_an_action_takes_nothing():
    assert not Rule(ADD).takes(request())


def test_answers_are_not_carried_out_and_changes_are():
    connection = Connection()
    acted(Rule(ADD).answer(101), connection, request())
    assert (connection.sent, connection.carried_out) == ([b"status 101"], 0)
    acted(Rule(ADD).change(bytes.upper), connection, request())
    assert (connection.sent[1:], connection.carried_out) == ([b"HONEST 0"], 1)


def test_silence_close_and_twice():
    connection = Connection()
    acted(Rule().silence(stored=True), connection, request())
    acted(Rule().close(), connection, request())
    assert (connection.sent, connection.carried_out, connection.closed) == ([], 1, True)
    acted(Rule().twice(), connection, request())
    assert connection.sent == [b"honest 0", b"honest 0"]


def test_a_reply_is_cut_where_it_is_told():
    connection = Connection()
    acted(Rule().split([4, 6]), connection, request())
    assert connection.sent == [b"\x00\x00\x00\x08", b"ho", b"nest 0"]
    acted(Rule().split(), connection, request())
    assert connection.sent[3:] == [bytes([byte]) for byte in b"\x00\x00\x00\x08honest 0"]


def test_a_gate_holds_until_it_is_released():
    connection, rule = Connection(), Rule()
    gate = rule.hold()
    for number in (1, 2):
        acted(rule, connection, request(entry_id=number))
    assert [each.entry_id for each in gate.wait(2)] == [1, 2]
    assert (connection.sent, connection.carried_out) == ([], 0)
    gate.release()
    assert connection.sent == [b"honest 1", b"honest 2"]
    with pytest.raises(Mismatch):
        gate.wait(timeout_s=0)

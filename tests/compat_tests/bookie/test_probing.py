"""The features that probing finds; a broken bookie does not escape its cases."""

import threading

import pytest

from compat_tests.bookie import probing
from compat_tests.judge.case import V2, V3
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import Site
from compat_tests.wire.replies import ConnectionClosed, Reply, Silence, txn_id_of
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Operation, V3Operation
from protocol_specs.wire.status import EBADREQ, EBADVERSION, ENOLEDGER, EUA

LEDGER = 1 << 61
GARBLED, REFUSED = Mismatch("the reply", "a V2 or V3 reply", "garbage"), Mismatch("connecting", "one", "refused")


def answer_of(frame, status=ENOLEDGER):
    if txn_id_of(frame) is None:
        return Reply(V2, b"", frame[1], 2, status)
    request = v3_pb2.Request.FromString(frame)
    part = v3_pb2.ReadResponse(ledger_scope_id=request.read_request.ledger_scope_id)
    return Reply(V3, b"", request.header.operation, 3, status, part=part)


@pytest.fixture
def found(monkeypatch):
    def found(answer):
        class FakeLine:
            def send(self, frame):
                self.frame = frame

            def receive(self, timeout_s):
                outcome = answer(self.frame)
                if isinstance(outcome, Mismatch):
                    raise outcome
                return outcome

            def close(self):
                pass

        monkeypatch.setattr(probing.Line, "to", lambda *arguments: FakeLine())
        return probing.probe(Site("127.0.0.1", 1), LEDGER, threading.Event())

    return found


def of_operation(frame):
    return frame[1] if txn_id_of(frame) is None else v3_pb2.Request.FromString(frame).header.operation


def test_one_that_has_everything(found):
    assert set(found(answer_of).values()) == {"yes"}


@pytest.mark.parametrize("outcome", [ConnectionClosed(), "EBADREQ", "EBADVERSION"], ids=str)
def test_what_is_refused_is_not_there(found, outcome):
    refusals = {"EBADREQ": EBADREQ, "EBADVERSION": EBADVERSION}

    def answer(frame):
        if txn_id_of(frame) is not None and of_operation(frame) == V3Operation.FORCE_LEDGER:
            return answer_of(frame, refusals[outcome]) if outcome in refusals else outcome
        return answer_of(frame)

    features = found(answer)
    assert {name for name, value in features.items() if value != "yes"} == {"force"}
    assert features["force"].startswith("no: ")


@pytest.mark.parametrize("outcome", [Silence(2.0), GARBLED, EUA], ids=str)
def test_what_is_answered_wrongly_or_not_at_all_is_for_the_cases(found, outcome):
    def answer(frame):
        if of_operation(frame) in (Operation.BATCH_READ_ENTRY, V3Operation.FORCE_LEDGER):
            return answer_of(frame, outcome) if outcome is EUA else outcome
        return answer_of(frame)

    assert set(found(answer).values()) == {"yes"}


@pytest.mark.parametrize("outcome", [Silence(2.0), GARBLED, "EBADREQ"], ids=str)
@pytest.mark.parametrize("dialect", [V2, V3])
def test_a_dialect_that_is_broken_is_for_the_cases(found, outcome, dialect):
    def answer(frame):
        if (V2 if txn_id_of(frame) is None else V3) is dialect:
            return answer_of(frame, EBADREQ) if outcome == "EBADREQ" else outcome
        return answer_of(frame)

    assert found(answer)[dialect.lower()] == "yes"


def test_a_dialect_that_is_not_spoken(found):
    features = found(lambda frame: answer_of(frame) if txn_id_of(frame) is None else ConnectionClosed())
    assert features["v2"] == "yes"
    assert features["v3"] == features["force"] == features["scopes"] == "no: the connection was closed"


@pytest.mark.parametrize("outcome", [Silence(2.0), GARBLED, REFUSED, ConnectionClosed()], ids=str)
def test_what_answers_in_no_dialect_is_not_asked_for_more(found, outcome):
    asked = []
    assert found(lambda frame: asked.append(frame) or outcome) == {"v2": "yes", "v3": "yes"}
    assert len(asked) == 2


def test_scopes_that_are_overlooked_are_not_there(found):
    def answer(frame):
        reply = answer_of(frame)
        return Reply(reply.dialect, b"", reply.operation, 3, ENOLEDGER, part=v3_pb2.ReadResponse())

    features = found(answer)
    assert features.pop("scopes") == "no: it is taken as a request without it"
    assert set(features.values()) == {"yes"}

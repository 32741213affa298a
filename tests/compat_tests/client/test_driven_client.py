"""The judged client as a case sees it: values, errors, and the lack of an answer."""

from concurrent.futures import Future

import pytest

from compat_tests.client.driven_client import Client, ClientError, Entries
from compat_tests.judge.verdict import Interrupted, Mismatch, Unsupported
from compat_tests.targets.java.driver_process import DriverEnded, JavaError


class Stage:
    def __init__(self, stopped=False):
        self.stopped, self.looked = stopped, 0

    def left_s(self):
        self.looked += 1
        if self.stopped and self.looked > 1:
            raise Interrupted
        return 0.6


class Driver:
    """Answers with the values that it was made with."""

    def __init__(self, *outcomes):
        self.outcomes, self.requests = list(outcomes), []

    def submit(self, verb, values):
        self.requests.append((verb, values))
        future = Future()
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        elif outcome is not None:
            future.set_result(outcome)
        return future


def client(*outcomes):
    driver = Driver(*outcomes)
    return Client(Stage(), "c", driver.submit), driver


def test_a_ledger_is_created_and_written():
    opened = {"handle": "3", "ledger": "9", "last_add_confirmed": "-1"}
    client_under_test, driver = client(opened, {"entry": "0"}, {"codes": "0,-101", "entries": "1,-1", "order": "1,0"})
    handle = client_under_test.create(3, 2, custom={"a": b"1"})
    assert (handle.ledger_id, handle.opened_at, handle.append(b"x")) == (9, -1, 0)
    outcomes = handle.append_many([b"a", b""])
    assert (outcomes.codes, outcomes.entries, outcomes.order) == ((0, -101), (1, -1), (1, 0))
    created = driver.requests[0][1]
    assert (created["client"], created["ack"], created["custom.a"]) == ("c", 2, b"1")
    assert driver.requests[2][1]["bodies"] == "61,"


def test_an_error_fails_the_case_unless_it_is_wanted():
    fenced = JavaError(-101, "LedgerFenced", "taken over")
    client_under_test, _ = client(fenced, fenced)
    with pytest.raises(Mismatch, match="LedgerFenced"):
        client_under_test.delete(1)
    assert client_under_test.begin("delete", ledger=1).error().code == -101


def test_success_is_no_error():
    client_under_test, _ = client({})
    with pytest.raises(Mismatch, match="expected an error"):
        client_under_test.begin("delete", ledger=1).error()


def test_what_a_client_cannot_is_unsupported():
    client_under_test, _ = client(JavaError(None, "Unsupported", "no batch read"))
    with pytest.raises(Unsupported):
        client_under_test.call("batch_read")


def test_a_client_that_hangs_or_ends_fails_the_case():
    client_under_test, _ = client(None, DriverEnded("bye"))
    with pytest.raises(Mismatch, match="an answer within"):
        client_under_test.call("open")
    with pytest.raises(Mismatch, match="process ended"):
        client_under_test.call("open")


def test_a_client_that_hangs_does_not_hold_up_who_wants_to_stop():
    client_under_test = Client(Stage(stopped=True), "c", Driver(None).submit)
    with pytest.raises(Interrupted):
        client_under_test.call("open")


def test_an_error_without_a_code_has_one_that_no_client_has():
    assert ClientError("read", JavaError(None, "X", "y")).code == -999


def test_entries_may_be_empty():
    assert Entries.of({"ids": "", "bodies": ""}) == Entries((), (), 0)
    assert Entries.of({"ids": "4,5", "bodies": ",61", "length": "1"}).payloads == (b"", b"a")


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({}, "the driver's reply to open: expected a value handle, seen no values"),
        ({"handle": "3", "ledger": "nine", "last_add_confirmed": "-1"}, "expected an integer in decimal, seen 'nine'"),
        ({"handle": "", "ledger": "9", "last_add_confirmed": "-1"}, "expected an integer in decimal, seen ''"),
    ],
)
def test_a_reply_that_is_not_as_documented_is_no_fault_of_the_suite(values, wrong):
    client_under_test, _ = client(values)
    with pytest.raises(Mismatch) as seen:
        client_under_test.open(9)
    assert wrong in str(seen.value)


def test_nor_are_bytes_that_are_none():
    with pytest.raises(Mismatch, match="bytes in hexadecimal"):
        Entries.of({"ids": "0", "bodies": "xx"})

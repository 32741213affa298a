"""The lines between the conformance suite and our client."""

import io

import pytest
from twisted.internet.defer import Deferred, ensureDeferred, succeed

from bookkeeper_tx import errors
from bookkeeper_tx.testing.conformance_driver import answer
from bookkeeper_tx.testing.conformance_lines import Request, code_of, config_of, error_line, reply_line
from bookkeeper_tx.testing.conformance_session import Session
from protocol_specs.wire.status import STATUSES


def said(session, line):
    replies = io.StringIO()
    ensureDeferred(answer(session, line, replies))
    return replies.getvalue()


def test_a_request_is_read():
    request = Request("7\tread\thandle=3\tbody=00ff\tunconfirmed=true\tcustom.a=01\n")
    assert (request.number, request.verb, request.integer("handle")) == ("7", "read", 3)
    assert (request.data("body"), request.flag("unconfirmed"), request.flag("other")) == (b"\x00\xff", True, False)
    assert request.under("custom.") == {"a": "01"}
    with pytest.raises(ValueError, match="read needs first"):
        request.integer("first")


def test_replies_are_one_line():
    assert reply_line("7", {"entry": 5, "found": True}) == "7\tok\tentry=5\tfound=true\n"
    line = error_line("8", errors.NoSuchEntry("no\tsuch\nentry"))
    assert line == "8\terror\tcode=-13\tname=NoSuchEntry\tmessage=no such entry\n"


def test_errors_of_bookies_have_the_codes_of_the_status_table():
    for status in STATUSES[1:]:
        assert code_of(errors.error_of(status)) == status.client, status.name


def test_errors_without_a_code_have_a_dash():
    assert "\tcode=-\tname=ValueError\t" in error_line("1", ValueError("x"))


def test_an_unknown_verb_is_unsupported():
    assert said(Session(None), "1\tdance\n").startswith("1\terror\tcode=-\tname=Unsupported\t")


def test_settings_are_told_in_milliseconds():
    config = config_of(Request("1\tconnect\tv2=true\tread_timeout_ms=1500\tbatch_read=false"))
    assert (config.protocol.value, config.read_timeout_s, config.batch_read_enabled) == ("v2", 1.5, False)


class Writer:
    """Acknowledges every other append."""

    ledger_id, last_add_confirmed = 5, -1

    def __init__(self):
        self.count = 0

    def append(self, payload):
        self.count += 1
        if self.count % 2:
            return succeed(self.count - 1)
        failed = Deferred()
        failed.errback(errors.LedgerFenced())
        return failed


class Client:
    def create_ledger(self, *sizes, **options):
        return succeed(Writer())


def test_what_became_of_many_appends_is_told_for_each():
    session = Session(None)
    session._clients["a"] = Client()
    created = said(session, "1\tcreate\tclient=a\tensemble=1\twrite=1\tack=1\tdigest=MAC\tpassword=\n")
    assert created == "1\tok\thandle=1\tledger=5\tlast_add_confirmed=-1\n"
    many = said(session, "2\tappend_many\thandle=1\tbodies=61,,62\n")
    assert many == "2\tok\tcodes=0,-101,0\tentries=0,-1,2\torder=0,1,2\n"

"""What our client does for the conformance suite, line by line."""

import io

from twisted.internet.defer import Deferred, ensureDeferred, succeed
from twisted.internet.task import Clock

from bookkeeper_tx import errors
from bookkeeper_tx.testing.conformance_driver.__main__ import answer
from bookkeeper_tx.testing.conformance_driver.session import Session
from bookkeeper_tx.transport.twisted_driver import TwistedDriver


def session():
    return Session(TwistedDriver(Clock()), lambda uri, config: Client())


def said(driven, line):
    replies = io.StringIO()
    ensureDeferred(answer(driven, line, replies))
    return replies.getvalue()


def test_an_unknown_verb_is_unsupported():
    assert said(session(), "1\tdance\n").startswith("1\terror\tcode=-\tname=Unsupported\t")


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
    driven = session()
    driven._clients["a"] = Client()
    created = said(driven, "1\tcreate\tclient=a\tensemble=1\twrite=1\tack=1\tdigest=MAC\tpassword=\n")
    assert created == "1\tok\thandle=1\tledger=5\tlast_add_confirmed=-1\n"
    many = said(driven, "2\tappend_many\thandle=1\tbodies=61,,62\n")
    assert many == "2\tok\tcodes=0,-101,0\tentries=0,-1,2\torder=0,1,2\n"

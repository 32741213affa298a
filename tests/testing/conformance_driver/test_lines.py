"""The lines between the conformance suite and our client."""

import pytest

from bookkeeper_tx import errors
from bookkeeper_tx.testing.conformance_driver.lines import Request, code_of, config_of, error_line, reply_line
from protocol_specs.wire.status import STATUSES


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


def test_settings_are_told_in_milliseconds():
    config = config_of(Request("1\tconnect\tv2=true\tread_timeout_ms=1500\tbatch_read=false"))
    assert (config.protocol.value, config.read_timeout_s, config.batch_read_enabled) == ("v2", 1.5, False)

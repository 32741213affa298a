"""The lines between Python and the Java driver."""

import pytest

from compat_tests.targets.java.client import parse_metadata
from compat_tests.targets.java.driver_process import JavaError, parse_reply, render_request
from compat_tests.targets.payloads import hash_of, pattern, patterns


def test_a_request_is_one_line():
    values = {"handle": 3, "body": b"\x00\xff", "recovery": True, "entry": None}
    assert render_request(7, "append", values) == "7\tappend\thandle=3\tbody=00ff\trecovery=true\n"


@pytest.mark.parametrize("value", ["a\tb", "a\nb"])
def test_a_value_cannot_break_the_line(value):
    with pytest.raises(ValueError, match="tab or a line end"):
        render_request(1, "connect", {"uri": value})


def test_a_good_reply_has_values():
    assert parse_reply("7\tok\tentry=5\turi=a=b\n") == (7, {"entry": "5", "uri": "a=b"})


def test_an_error_has_a_code_or_none():
    number, error = parse_reply("8\terror\tcode=-101\tname=BKLedgerFencedException\tmessage=fenced\tacknowledged=12\n")
    assert isinstance(error, JavaError)
    assert (number, error.code, error.name, error.message) == (8, -101, "BKLedgerFencedException", "fenced")
    assert error.fields == {"acknowledged": "12"}
    _, other = parse_reply("9\terror\tcode=-\tname=IllegalArgumentException\tmessage=null\n")
    assert isinstance(other, JavaError)
    assert other.code is None


def test_metadata_is_read():
    reply = {
        "format_version": "3",
        "ensemble": "2",
        "write": "2",
        "ack": "1",
        "state": "CLOSED",
        "last_entry": "9",
        "length": "100",
        "digest": "CRC32C",
        "ctime_ms": "1",
        "fragments": "0:127.0.0.1:3181,127.0.0.1:3182;5:127.0.0.1:3181,b",
        "custom.name": "00ff",
    }
    metadata = parse_metadata(reply)
    assert metadata.fragments == {0: ["127.0.0.1:3181", "127.0.0.1:3182"], 5: ["127.0.0.1:3181", "b"]}
    assert metadata.custom == {"name": b"\x00\xff"}
    assert (metadata.state, metadata.last_entry, metadata.ack) == ("CLOSED", 9, 1)


def test_payloads_are_cut_to_size_and_differ():
    assert pattern(1, 14, 2) == bytes.fromhex("0000000000000001 00000002 0000")
    assert pattern(1, 0) == b""
    assert len({*patterns(1000, 12)}) == 1000
    assert patterns(3, 20, seed=1, index=5)[2] == pattern(7, 20, 1)


def test_the_hash_tells_where_bodies_end():
    assert hash_of([b"ab", b"c"]) != hash_of([b"a", b"bc"])

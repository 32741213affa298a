"""Messages that start with their own length."""

import construct
import pytest

from protocol_specs.forms import LengthFirst

MESSAGE = LengthFirst(
    "length" / construct.Int32sb,
    "kind" / construct.Int8ub,
    "body" / construct.GreedyBytes,
)
ENVELOPE = construct.Struct("first" / MESSAGE, "second" / MESSAGE, "rest" / construct.GreedyBytes)


def test_a_message_ends_where_its_length_says() -> None:
    read = ENVELOPE.parse(b"\0\0\0\3\1ab\0\0\0\1\2rest")
    assert (read.first.kind, read.first.body) == (1, b"ab")
    assert (read.second.kind, read.second.body, read.rest) == (2, b"", b"rest")


@pytest.mark.parametrize(
    "data", [b"", b"\0\0\0", b"\0\0\0\3", b"\0\0\0\3\1a", b"\xff\xff\xff\xff\1ab", b"\0\0\0\0\1ab"]
)
def test_a_message_cut_short_is_refused(data: bytes) -> None:
    with pytest.raises(construct.StreamError):
        MESSAGE.parse(data)


def test_what_is_built_can_be_read() -> None:
    built = MESSAGE.build({"length": 3, "kind": 1, "body": b"ab"})
    assert MESSAGE.parse(built).body == b"ab"

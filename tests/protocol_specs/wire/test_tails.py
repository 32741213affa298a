"""The closed set of tails, as construct reads and builds them."""

from typing import Any

import construct
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import fields
from protocol_specs.wire import tails

KEYED = construct.Struct("header" / fields.packet_header, "key" / tails.KeyIfFencing)
KEY = bytes(range(20))


@given(st.lists(st.binary(max_size=30)))
def test_records_come_back(records: list[bytes]) -> None:
    assert tails.Records.parse(tails.Records.build(records)) == records


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=4), st.data())
def test_records_cut_inside_one_are_refused(records: list[bytes], data: st.DataObject) -> None:
    whole = tails.Records.build(records)
    ends = {len(tails.Records.build(records[:count])) for count in range(len(records) + 1)}
    size = data.draw(st.sampled_from(sorted(set(range(len(whole))) - ends)))
    with pytest.raises(construct.StreamError, match=r"cut short|overruns"):
        tails.Records.parse(whole[:size])


@pytest.mark.parametrize("length", [-1, -4, -(2**31), 1, 2**31 - 1])
def test_a_length_that_no_record_has_is_refused(length: int) -> None:
    with pytest.raises(construct.StreamError, match=f"record of {length} bytes"):
        tails.Records.parse(fields.record_length.build(length))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (0x02020001, True),
        (0x02020005, True),
        (0x0207FFFF, True),
        (0x03020001, True),
        (0x7F020001, True),
        (0x02020000, False),
        (0x02020004, False),
        (0x0202FFFE, False),
        (0x01020001, False),
        (0x00000102, False),
        (0x00020001, False),
        (0x80020001, False),
        (0xFF02FFFF, False),
    ],
)
def test_a_key_needs_the_fencing_flag_and_a_version_that_has_keys(header: int, expected: bool) -> None:
    """A version is a signed byte; version 0 has no flags."""
    data = fields.packet_header.build(header) + KEY + b"more"
    assert tails.KeyIfFencing.expected(header) is expected
    assert KEYED.parse(data).key == (KEY if expected else None)


@pytest.mark.parametrize("size", [0, 1, 19])
def test_a_fencing_request_without_its_key_is_refused(size: int) -> None:
    with pytest.raises(construct.StreamError, match="without its 20 bytes"):
        KEYED.parse(fields.packet_header.build(0x02020001) + KEY[:size])


@pytest.mark.parametrize(
    ("header", "key", "built"), [(0x02020001, KEY, KEY), (0x02020000, KEY, KEY), (0x02020000, None, b"")]
)
def test_a_key_is_built_when_there_is_one(header: int, key: bytes | None, built: bytes) -> None:
    assert KEYED.build({"header": header, "key": key})[4:] == built


@pytest.mark.parametrize("value", [None, b"", b"x"])
def test_an_ignored_tail_is_never_built_nor_read(value: Any) -> None:
    assert tails.Ignored.build(value) == b""
    assert tails.Ignored.parse(b"anything") is None

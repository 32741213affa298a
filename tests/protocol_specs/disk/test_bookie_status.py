"""protocol_specs.disk.bookie_status."""

import pytest

from protocol_specs.codecs import Malformed
from protocol_specs.disk.bookie_status import BookieStatus, build, parse


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"1,READ_ONLY,17,true\n", BookieStatus(True, 17, manual=True)),
        (b"1,READ_ONLY,17,false\n", BookieStatus(True, 17)),
        (b"1,READ_WRITE,17,false\n", BookieStatus(False, 17)),
    ],
)
def test_a_line_is_read_and_written(line: bytes, status: BookieStatus) -> None:
    assert parse(line) == status
    assert build(status) == line


@pytest.mark.parametrize("line", [b"1,READ_ONLY,17\n", b"1,READ_ONLY,17", b"1,READ_ONLY, 17 , TRUE\r\nmore\n"])
def test_a_line_without_the_fourth_field_is_manual(line: bytes) -> None:
    assert parse(line) == BookieStatus(True, 17, manual=True)


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"2,READ_ONLY,17,true\n", b"1,WRITABLE,17,true\n", b"1,READ_ONLY,now,true\n", b"1,READ_ONLY\n"]
)
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises(Malformed):
        parse(line)

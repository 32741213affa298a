"""A file as lines."""

import io

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.cli.lines import chunks_of_lines, count_lines

FILES = st.lists(st.sampled_from([b"\n", b"\r\n", b"line\n", b"\x00\xff", b"\r", b""])).map(b"".join)


@given(FILES, st.integers(1, 5))
def test_lines_joined_are_the_file(data, count):
    chunks = list(chunks_of_lines(io.BytesIO(data), count))
    assert b"".join(line for chunk in chunks for line in chunk) == data
    assert all(len(chunk) == count for chunk in chunks[:-1])
    assert sum(map(len, chunks)) == count_lines(io.BytesIO(data))


def test_empty_lines_are_entries():
    assert list(chunks_of_lines(io.BytesIO(b"a\n\n\nb"), 9)) == [[b"a\n", b"\n", b"\n", b"b"]]


def test_an_empty_file_has_none():
    assert list(chunks_of_lines(io.BytesIO(b""), 9)) == []

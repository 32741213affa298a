"""A file as lines."""

import io
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from bookkeeper_tx.cli.lines import chunks_of_lines, count_lines, lines_as_they_come

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


class Turns:
    """A reactor with callFromThread alone; the test says when it takes a turn."""

    def __init__(self):
        self._called = threading.Event()
        self._call = None

    def callFromThread(self, function, *arguments):
        self._call = (function, arguments)
        self._called.set()

    def turn(self):
        assert self._called.wait(10)
        self._called.clear()
        function, arguments = self._call
        function(*arguments)


@pytest.fixture
def pipe():
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as readable, os.fdopen(write_end, "wb", buffering=0) as writable:
        yield readable, writable


async def collect(reactor, file, into):
    async for lines in lines_as_they_come(reactor, file):
        into.append(lines)


def test_lines_of_a_pipe_come_as_they_are_written(pipe, result_of):
    readable, writable = pipe
    turns, found = Turns(), []
    done = Deferred.fromCoroutine(collect(turns, readable, found))
    writable.write(b"one\n\nbegun")
    turns.turn()
    assert found == [[b"one\n", b"\n"]]
    writable.write(b", ended\nlast")
    turns.turn()
    assert found[1:] == [[b"begun, ended\n"]]
    writable.close()
    turns.turn()
    assert found[2:] == [[b"last"]]
    result_of(done)


def test_a_pipe_that_cannot_be_read_is_an_error(pipe, failure_of):
    _, writable = pipe
    turns = Turns()
    done = Deferred.fromCoroutine(collect(turns, writable, []))
    turns.turn()
    failure_of(done, OSError)

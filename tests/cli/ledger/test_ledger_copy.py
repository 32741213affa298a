"""Lines into a ledger."""

from io import BytesIO
from types import SimpleNamespace

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.cli.ledger import ledger_copy
from bookkeeper_tx.errors import LedgerFenced

LINES = [b"1\n", b"2\n", b"3\n", b"4\n", b"5\n", b"6\n", b"7\n", b"8"]


class Writer:
    """Keeps the appended entries; acknowledges when the test says so."""

    def __init__(self):
        self.chunks = []
        self.waiting = []

    def append_many(self, lines):
        self.chunks.append(list(lines))
        deferred = Deferred()
        self.waiting.append(deferred)
        return deferred


@pytest.fixture
def writer(monkeypatch):
    monkeypatch.setattr(ledger_copy, "CHUNK_LINES", 2)
    monkeypatch.setattr(ledger_copy, "CHUNKS_IN_FLIGHT", 2)
    return Writer()


def test_lines_go_out_in_chunks_and_no_more_than_some_at_a_time(writer, result_of):
    lines = ledger_copy.LineWriter(writer)
    done = Deferred.fromCoroutine(lines.write(LINES))
    assert writer.chunks == [[b"1\n", b"2\n"], [b"3\n", b"4\n"], [b"5\n", b"6\n"]]
    writer.waiting[0].callback(range(2))
    assert writer.chunks[-1] == [b"7\n", b"8"]
    assert not done.called
    writer.waiting[1].callback(range(2))
    result_of(done)
    drained = Deferred.fromCoroutine(lines.drain())
    for deferred in writer.waiting[2:]:
        deferred.callback(range(2))
    result_of(drained)


def test_progress_is_told_when_a_chunk_is_safe(writer):
    told = []
    lines = ledger_copy.LineWriter(writer, told.append)
    done = Deferred.fromCoroutine(lines.write([b"a", b""]))
    assert done.called
    drained = Deferred.fromCoroutine(lines.drain())
    assert told == []
    writer.waiting[0].callback(range(2))
    assert drained.called
    assert told == [2]


def test_an_error_is_that_of_the_first_chunk_and_the_others_are_inert(writer, failure_of):
    done = Deferred.fromCoroutine(ledger_copy.LineWriter(writer).write(LINES))
    for deferred in writer.waiting:
        deferred.errback(LedgerFenced())
    failure_of(done, LedgerFenced)


class Reader:
    """Gives pieces, as many as are taken."""

    def __init__(self):
        self.asked = []
        self.given = 0

    async def entries(self, first, last, batch):
        self.asked.append((first, last, batch))
        for payloads in ([b"a", b"b"], [b"c"]):
            self.given += 1
            yield SimpleNamespace(payloads=payloads)


class Out(BytesIO):
    """Notes how many pieces were there at each write."""

    def __init__(self, reader):
        super().__init__()
        self.reader = reader
        self.given = []

    def write(self, data):
        self.given.append(self.reader.given)
        return super().write(data)


@pytest.mark.parametrize(("end", "written"), [(b"", b"abc"), (b"\n", b"a\nb\nc\n")])
def test_a_range_is_written_a_piece_at_a_time(end, written, result_of):
    reader = Reader()
    out = Out(reader)
    result_of(Deferred.fromCoroutine(ledger_copy.read_payloads(reader, 3, 5, False, end, out)))
    assert out.getvalue() == written
    assert out.given == [1, 2], "no piece is read in full before the one before it is written"
    assert reader.asked == [(3, 5, False)]

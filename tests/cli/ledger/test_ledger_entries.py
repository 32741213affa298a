"""The entries of a ledger that bookies should have, and the display of those they lack."""

import json

import pytest
from click.testing import CliRunner
from twisted.internet.defer import Deferred, fail, succeed

from bookkeeper_tx.cli.ledger import ledger_entries
from bookkeeper_tx.entry.entry_list import EntryList, encode
from bookkeeper_tx.errors import BookieUnavailable, NoSuchLedger
from bookkeeper_tx.model import Fragment, LedgerMetadata

OPEN = LedgerMetadata(3, 2, 1, [Fragment(0, "abc"), Fragment(4, "abd")])
CLOSED = OPEN.with_close(7, 80)
HELD = {"a": [0, 2, 3, 5, 6], "b": [0, 1, 3], "c": [1, 2]}


class Client:
    """A client of bookies that have HELD; of ``d`` nothing, of ``e`` no answer."""

    def entries_of(self, ledger_id, bookie_id):
        if bookie_id == "e":
            return fail(BookieUnavailable("it is down"))
        if bookie_id not in HELD:
            return fail(NoSuchLedger())
        return succeed(EntryList.decode(encode(HELD[bookie_id])))


def stock(result_of, metadata, bookie_id):
    return result_of(Deferred.fromCoroutine(ledger_entries.stock_of(Client(), 1, metadata, bookie_id)))


@pytest.mark.parametrize(
    ("bookie_id", "expected"), [("a", [0, 2, 3, 5, 6]), ("b", [0, 1, 3, 4, 6, 7]), ("c", [1, 2]), ("d", [4, 5, 7])]
)
def test_what_a_bookie_should_have(bookie_id, expected):
    assert list(ledger_entries.expected_on(CLOSED, bookie_id)) == expected


@pytest.mark.parametrize(
    ("bookie_id", "missing"),
    [("a", ()), ("b", (range(4, 5), range(6, 8))), ("c", ()), ("d", (range(4, 6), range(7, 8)))],
)
def test_what_a_bookie_lacks(result_of, bookie_id, missing):
    assert stock(result_of, CLOSED, bookie_id).missing == missing
    assert stock(result_of, OPEN, bookie_id).missing is None


def test_a_bookie_that_does_not_say(result_of):
    assert stock(result_of, CLOSED, "e").trouble == "it is down"


def test_a_list_of_more_ranges_than_anybody_reads_is_cut(result_of, monkeypatch):
    monkeypatch.setattr(ledger_entries, "RANGES_MAX", 2)
    found = stock(result_of, OPEN, "a")
    assert (found.entries, found.more) == ((range(1), range(2, 4)), True)
    assert not stock(result_of, OPEN, "b").more


@pytest.mark.parametrize(
    ("bookies", "exit_code", "text"),
    [
        ("ac", 0, "a: 0 2-3 5-6\nc: 1-2\n"),
        ("b", 1, "b: 0-1 3; missing: 4 6-7\n"),
        ("d", 1, "d: nothing; missing: 4-5 7\n"),
        ("e", 1, "e: it is down\n"),
    ],
)
def test_what_is_shown(result_of, monkeypatch, bookies, exit_code, text):
    monkeypatch.setattr(ledger_entries, "run", lambda _: [stock(result_of, CLOSED, each) for each in bookies])
    result = CliRunner().invoke(ledger_entries.entries, ["--metadata", "sqlite:///m", "1"])
    assert (result.exit_code, result.output) == (exit_code, text)
    result = CliRunner().invoke(ledger_entries.entries, ["--metadata", "sqlite:///m", "1", "--json"])
    assert [json.loads(line)["bookie_id"] for line in result.output.splitlines()] == list(bookies)

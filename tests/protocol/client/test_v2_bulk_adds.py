"""Adds of consecutive entries that are one request to their caller, over V2."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import BookieUnavailable, LedgerFenced, RequestTimedOut, StorageFailed
from bookkeeper_tx.protocol.bookie import v2
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection
from bookkeeper_tx.protocol.client.v2_bulk_adds import AddRun
from protocol_specs.fields import FRAME_SIZE_MAX
from protocol_specs.wire import status as statuses
from tests.bookie.seams import KEY, entry

LEDGER, OTHER = 7, 8


def reply(entry_id: int, status: Any = statuses.EOK, ledger_id: int = LEDGER) -> bytes:
    head = (24).to_bytes(4, "big") + (0x02010000).to_bytes(4, "big") + status.v2.to_bytes(4, "big")
    return head + ledger_id.to_bytes(8, "big") + entry_id.to_bytes(8, "big")


def client_of(*counts: int) -> V2ClientConnection:
    """Return a client that has asked for runs of so many entries, one after another, the first with token 0."""
    client, first = V2ClientConnection(FRAME_SIZE_MAX), 0
    for token, count in enumerate(counts):
        client.add_entries(token, 5.0 + token, LEDGER, first, [entry(first + i) for i in range(count)], KEY)
        first += count
    return client


@pytest.mark.parametrize("sizes", [[41] * 20, [41, 60, 41, 70]])
def test_the_requests_are_those_of_single_adds(sizes: list[int]) -> None:
    bulk, single = V2ClientConnection(FRAME_SIZE_MAX), V2ClientConnection(FRAME_SIZE_MAX)
    entries = [entry(5 + i, size) for i, size in enumerate(sizes)]
    bulk.add_entries("run", 1.0, LEDGER, 5, entries, KEY)
    for entry_id, each in enumerate(entries, 5):
        single.add_entry(entry_id, 1.0, LEDGER, entry_id, each, KEY)
    data = bulk.data_to_send()
    assert data == single.data_to_send()
    [request] = ServerConnection().receive(data)
    assert isinstance(request, v2.AddRequests)
    assert bulk.receive(request.replies(statuses.EOK)) == [("run", None, 5 + len(sizes))]
    assert not bulk.waiting


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.data(),
)
def test_each_run_tells_how_far_it_is_acknowledged_and_after_an_error_of_each_entry(
    counts: list[int], data: st.DataObject
) -> None:
    """Replies come in any order, cut anywhere; some say an error, some come twice, and some never."""
    client, total = client_of(*counts), sum(counts)
    refused = data.draw(st.sets(st.integers(0, total - 1), max_size=2))
    order = data.draw(st.permutations(range(total))) if data.draw(st.booleans()) else list(range(total))
    order = order[: data.draw(st.integers(0, total))]
    stream_of = [*order, *data.draw(st.lists(st.sampled_from(order), max_size=3))] if order else []
    stream = b"".join(reply(each, statuses.EFENCED if each in refused else statuses.EOK) for each in stream_of)
    cut = data.draw(st.integers(0, len(stream)))
    done = client.receive(stream[:cut]) + client.receive(stream[cut:])
    lost = BookieUnavailable()
    assert client.waiting == (len(order) < total)
    done += client.fail_all(lost) if data.draw(st.booleans()) else client.expire(20.0)
    first = 0
    for token, count in enumerate(counts):
        entries = set(range(first, first + count))
        told = told_of(first, [each[1:] for each in done if each[0] == token])
        expected: dict[int, Any] = dict.fromkeys(entries & set(order))
        expected.update(dict.fromkeys(entries & set(order) & refused, LedgerFenced))
        assert {each: told[each] for each in expected} == expected
        assert {told[each] for each in entries - set(order)} <= {BookieUnavailable, RequestTimedOut}
        assert told.keys() == entries
        first += count
    assert not client.waiting


def told_of(first: int, completions: list[Any]) -> dict[int, Any]:
    """Return what the caller of a run was told of each entry, once: the type of an error, or None."""
    told: dict[int, Any] = {}
    one_by_one = False
    for error, value in completions:
        one_by_one = one_by_one or not isinstance(value, int)
        assert one_by_one or error is None
        ids = value if one_by_one else range(first + len(told), value)
        assert ids
        assert not told.keys() & ids
        told.update(dict.fromkeys(ids, error and type(error)))
    return told


def test_an_error_is_that_of_its_own_entries_only() -> None:
    client = client_of(6)
    assert client.receive(reply(0) + reply(3)) == [(0, None, 1)]
    [early, (token, error, refused)] = client.receive(reply(1, statuses.EIO) + reply(2, statuses.EIO))
    assert early == (0, None, {3})
    assert (token, type(error), refused) == (0, StorageFailed, {1, 2})
    assert client.waiting
    assert client.receive(reply(5)) == [(0, None, {5})]
    [(_, error, refused)] = client.expire(5.5)
    assert (type(error), refused) == (RequestTimedOut, {4})
    assert not client.waiting


def test_single_adds_are_answered_beside_runs() -> None:
    client = client_of(3)
    client.add_entry("single", 9.0, LEDGER, 3, entry(3), KEY)
    client.add_entry("other", 9.0, OTHER, 0, entry(0, ledger_id=OTHER), KEY)
    stream = b"".join([*map(reply, range(4)), reply(0, ledger_id=OTHER), reply(9)])
    assert client.receive(stream) == [(0, None, 3), ("single", None, None), ("other", None, None)]
    assert not client.waiting


def test_what_is_overdue_are_the_entries_without_an_answer() -> None:
    client = client_of(3, 2)
    assert client.receive(reply(0) + reply(2)) == [(0, None, 1)]
    [early, (token, error, overdue)] = client.expire(5.5)
    assert early == (0, None, {2})
    assert (token, type(error), overdue) == (0, RequestTimedOut, {1})
    assert client.receive(reply(1)) == []
    lost = BookieUnavailable()
    assert client.fail_all(lost) == [(1, lost, {3, 4})]
    assert client.fail_all(lost) == []


def test_an_answer_that_comes_twice_counts_once() -> None:
    run = AddRun("token", 1.0, 0, 4)
    assert run.take(0, 1) == [range(1)]
    assert run.take(0, 1) == []
    assert run.take(2, 3) == [range(2, 3)]
    assert run.take(1, 9) == [range(1, 2), range(3, 4)]
    assert run.answered


@pytest.mark.parametrize("bulk", [True, False])
def test_late_answers_of_a_failed_run_are_nobody_elses(bulk: bool) -> None:
    """A recovery in the same client adds an entry again that the fenced writer had on its way."""
    client = V2ClientConnection(FRAME_SIZE_MAX)
    if bulk:
        client.add_entries("writer", 5.0, LEDGER, 0, [entry(0), entry(1)], KEY)
    else:
        client.add_entry("writer", 5.0, LEDGER, 0, entry(0), KEY)
        client.add_entry("writer", 5.0, LEDGER, 1, entry(1), KEY)
    assert [token for token, _, _ in client.receive(reply(0, statuses.EFENCED))] == ["writer"]
    client.add_entry("recovery", 6.0, LEDGER, 1, entry(1), KEY)
    assert [token for token, _, _ in client.receive(reply(1, statuses.EFENCED))] == ["writer"]
    assert client.receive(reply(1)) == [("recovery", None, None)]
    assert not client.waiting


def test_an_answer_to_an_entry_that_a_run_has_acknowledged_is_anothers() -> None:
    client = client_of(3)
    assert client.receive(reply(0)) == [(0, None, 1)]
    client.add_entry("again", 9.0, LEDGER, 0, entry(0), KEY)
    assert client.receive(reply(0)) == [("again", None, None)]
    assert client.receive(reply(1) + reply(2)) == [(0, None, 3)]


def test_one_group_of_replies_to_many_runs_is_looked_at_once() -> None:
    """It is what one sync of a journal brings: with a look at each run for each entry this would not end."""
    client = client_of(*[2] * 4000)
    done = client.receive(b"".join(map(reply, range(8000))))
    assert [token for token, _, _ in done] == list(range(4000))


def test_so_is_one_to_runs_with_single_adds_between_them() -> None:
    client = V2ClientConnection(FRAME_SIZE_MAX)
    for first in range(0, 12000, 3):
        client.add_entries(first, 5.0, LEDGER, first, [entry(first), entry(first + 1)], KEY)
        client.add_entry(first + 2, 5.0, LEDGER, first + 2, entry(first + 2), KEY)
    done = client.receive(b"".join(map(reply, range(12000))))
    assert sorted(token for token, _, _ in done) == sorted([*range(0, 12000, 3), *range(2, 12000, 3)])

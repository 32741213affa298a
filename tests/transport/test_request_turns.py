"""bookkeeper_tx.transport.request_turns: ends of requests, rests of requests, requests."""

from typing import Any

from bookkeeper_tx.protocol.bookie.requests import REQUEST_BYTES, Answered, Continuation
from bookkeeper_tx.transport.request_turns import RequestTurns


def nothing() -> None: ...


def filled() -> tuple[RequestTurns, Any]:
    turns, rests = RequestTurns(), [Continuation(lambda: None) for _ in range(2)]
    turns.add(["first", "second"])  # type: ignore[list-item]
    for rest in rests:
        turns.add_rest(rest)
    turns.add_rest("rest of a run")  # type: ignore[arg-type]
    turns.add_end(nothing)
    return turns, [Continuation(nothing), *rests, "rest of a run", "first", "second", None]


def test_the_order() -> None:
    turns, expected = filled()
    assert [turns.take() for _ in expected] == expected


def test_a_pause_is_for_all_but_ends() -> None:
    turns, expected = filled()
    turns.pauses = 1
    assert [turns.take(), turns.take()] == [expected[0], None]
    turns.pauses = 0
    assert turns.take() is expected[1]


def test_a_slow_client_has_no_turn() -> None:
    turns, expected = filled()
    turns.slow = True
    assert turns.take() is None
    turns.slow = False
    assert turns.take() == expected[0]


def test_only_ends_are_left_of_what_is_cleared() -> None:
    turns, expected = filled()
    assert turns.clear() == expected[:1]
    assert turns.take() is None


def test_the_memory_of_all_that_waits() -> None:
    turns = RequestTurns()
    assert turns.kept_bytes == 0
    turns.add([Answered(bytes(100)), Answered(bytes(20))])
    turns.add_rest(Continuation(nothing))
    turns.add_end(nothing)
    assert turns.kept_bytes == 4 * REQUEST_BYTES + 120
    turns.add_rest(Answered(bytes(3)))
    assert turns.kept_bytes == 5 * REQUEST_BYTES + 123
    for expected in (4, 3):
        turns.take()
        assert turns.kept_bytes == expected * REQUEST_BYTES + 123
    turns.take()
    assert turns.kept_bytes == 2 * REQUEST_BYTES + 120
    turns.clear()
    assert turns.kept_bytes == 0


def test_the_memory_of_a_request_that_goes_on_later() -> None:
    turns = RequestTurns()
    turns.add_rest(Continuation(nothing, 1000))
    turns.add_rest(Continuation(nothing))
    assert turns.kept_bytes == 2 * REQUEST_BYTES + 1000
    turns.take()
    assert turns.kept_bytes == REQUEST_BYTES
    turns.add_rest(Continuation(nothing, 1000))
    turns.clear()
    assert turns.kept_bytes == 0

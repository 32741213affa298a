"""V3 requests that come together: a run has the values and the replies of its requests one by one."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.protocol.bookie import v3, v3_mixed
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered, InContext
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import Status
from tests.protocol.bookie.v3_frames import KEY, frame_of

FEW = st.sampled_from([0, 0, 0, 0, 1])
"""Mostly the same, so that there are runs."""

MANY = FEW.map(lambda value: 1 - value)


@st.composite
def adds(draw: st.DrawFn, scoped: st.SearchStrategy[int] = FEW) -> bytes:
    ledger_id, entry_id = 7 + draw(FEW), draw(st.integers(0, 3))
    body = b"".join(each.to_bytes(8, "big") for each in (ledger_id, entry_id, 0)) + bytes(draw(st.integers(0, 3)))
    if draw(scoped):
        body = b"\xa1" + (1 + draw(FEW)).to_bytes(8, "big") + body + bytes(8)
    part = v3_pb2.AddRequest(
        ledger_id=draw(st.integers(-(2**63), 2**63 - 1)),
        entry_id=draw(st.integers(-(2**63), 2**63 - 1)),
        master_key=KEY[draw(FEW) :],
        body=body[: len(body) - 10 * draw(FEW)],
        write_flags=draw(st.sampled_from([None, None, None, 0, 1, 3])),
        ledger_scope_id=draw(scoped) or None,
    )
    if draw(FEW):
        part.flag = v3_pb2.AddRequest.RECOVERY_ADD
    return framed(draw, 2, add_request=part)


@st.composite
def reads(draw: st.DrawFn) -> bytes:
    part = v3_pb2.ReadRequest(ledger_id=7 + draw(FEW), entry_id=draw(st.integers(-2, 2**63 - 1)))
    if draw(FEW):
        part.ledger_scope_id = draw(st.sampled_from([0, 1, -1]))
    if draw(FEW):
        part.flag = draw(st.sampled_from([v3_pb2.ReadRequest.FENCE_LEDGER, v3_pb2.ReadRequest.ENTRY_PIGGYBACK]))
    if draw(FEW):
        part.previous_lac = draw(st.integers(-1, 5))
    return framed(draw, 1, **({} if draw(FEW) else {"read_request": part}))


@st.composite
def regular_reads(draw: st.DrawFn) -> list[bytes]:
    """Reads whose ids mostly grow by the same steps."""
    near_end = draw(FEW)
    txn_id, entry_id = (2**64 - 20, 2**63 - 20) if near_end else (draw(st.integers(0, 300)), draw(st.integers(0, 300)))
    txn_step, entry_step = draw(st.integers(1, 3)), draw(st.integers(-1, 3))
    odd = draw(st.sets(st.integers(0, 11), max_size=2))
    flags = {} if not draw(FEW) else {"flag": draw(st.sampled_from([1, 2])), "master_key": KEY}
    frames = []
    for at in range(draw(st.integers(0, 12))):
        txn_id = min(txn_id + txn_step + (at in odd), 2**64 - 1)
        entry_id = min(entry_id + entry_step, 2**63 - 1)
        part = v3_pb2.ReadRequest(ledger_id=7, entry_id=entry_id, **flags)
        frame = frame_of(1, txn_id=txn_id, read_request=part) + b"\x98\x3f\x05" * draw(FEW)
        frames.append(len(frame).to_bytes(4, "big") + frame)
    return frames


def framed(draw: st.DrawFn, operation: int, **parts: Any) -> bytes:
    if draw(FEW):
        parts["request_context"] = [v3_pb2.ContextPair(key="a", value="b")]
    txn_id = draw(st.integers(0, 2**64 - 1))
    frame = frame_of(operation, txn_id=txn_id, version=3 - draw(FEW), priority=draw(FEW), **parts)
    return len(frame).to_bytes(4, "big") + frame


def received(frames: list[bytes]) -> list[Any]:
    requests = [request for frame in frames for request in ServerConnection().receive(frame)]
    return [request.request if isinstance(request, InContext) else request for request in requests]


def asked(request: Any) -> list[Any]:
    """Return the values that ``request`` asks for, an item for each of its frames."""
    if isinstance(request, v3.AddRequests):
        flags = (request.recovery, request.high_priority, request.deferred_sync)
        ledger_id = request.entries.ledger_id
        return [(ledger_id, entry, request.master_key, flags) for entry in request.entries]
    if isinstance(request, v3.ReadRequests):
        flags = (request.fencing, request.high_priority)
        key = request.master_key if request.fencing else None
        return [(request.ledger_id, entry_id, key, flags) for entry_id in request.entry_ids]
    if isinstance(request, v3_mixed.MixedAddRequests):
        flags = (request.recovery, request.high_priority, False)
        assert all(record[:4] == (len(record) - 4).to_bytes(4, "big") for _, _, _, _, record in request.adds)
        assert all(confirmed == int.from_bytes(record[20:28], "big") for _, _, confirmed, _, record in request.adds)
        return [(ledger_id, record[4:], key, flags) for ledger_id, _, _, key, record in request.adds]
    if isinstance(request, v3_mixed.MixedReadRequests):
        return [(ledger_id, entry_id, None, (False, request.high_priority)) for ledger_id, entry_id in request.reads]
    return [type(request)]


def answered(request: Any, answers: list[Any]) -> bytes:
    """Encode the replies, the next of ``answers`` to each read."""
    if isinstance(request, Answered):
        return request.reply
    if isinstance(request, v3.AddRequests):
        return request.replies(statuses.EFENCED)
    if isinstance(request, v3_mixed.MixedAddRequests):
        return request.replies(range(len(request.adds)), statuses.EFENCED)
    if isinstance(request, v3_mixed.MixedReadRequests):
        return b"".join(bytes(part) for at in range(len(request.reads)) for part in one_of(request, at, answers.pop()))
    if isinstance(request, v3.ReadRequests):
        mine = [answers.pop() for _ in request.entry_ids]
        return b"".join(bytes(part) for part in request.replies(mine, 5))
    return request.reply(4, statuses.EOK, 5, None)


def one_of(request: v3_mixed.MixedReadRequests, index: int, answer: Any) -> Iterable[Any]:
    """Encode the reply to one of several reads: an entry, or a status."""
    if isinstance(answer, Status):
        return request.part(index).replies([answer], 5)
    return request.replies([index], [answer], [5])


@given(
    st.lists(adds(), max_size=12)
    | st.lists(adds(MANY), max_size=12)
    | st.lists(reads(), max_size=12)
    | st.lists(adds() | reads(), max_size=9)
    | regular_reads(),
    st.data(),
)
def test_a_run_is_its_requests(frames: list[bytes], data: st.DataObject) -> None:
    alone, together = received(frames), received([b"".join(frames)])
    assert [each for request in together for each in asked(request)] == [
        each for request in alone for each in asked(request)
    ]
    answer = st.binary(max_size=300) | st.sampled_from([statuses.ENOENTRY, statuses.EIO])
    answers = data.draw(st.lists(answer, min_size=len(frames), max_size=len(frames)))
    left, right = list(answers), list(answers)
    expected = b"".join([answered(request, left) for request in alone])
    assert b"".join([answered(request, right) for request in together]) == expected


def parts_of(entry_ids: Iterable[int]) -> list[v3_pb2.ReadRequest]:
    return [v3_pb2.ReadRequest(ledger_id=7, entry_id=entry_id) for entry_id in entry_ids]


def test_what_comes_together_is_one_run() -> None:
    entries = [b"".join(each.to_bytes(8, "big") for each in (7, entry_id, 0)) for entry_id in range(20)]
    parts = [
        v3_pb2.AddRequest(ledger_id=7, entry_id=at, master_key=KEY, body=entry) for at, entry in enumerate(entries)
    ]
    frames = [frame_of(2, txn_id=at, add_request=part) for at, part in enumerate(parts)]
    (run,) = received([b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)])
    assert list(run.entries) == entries
    assert isinstance(run.entries.offsets, range)
    frames = [frame_of(1, txn_id=at, read_request=part) for at, part in enumerate(parts_of((5, 1, 9)))]
    (run,) = received([b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)])
    assert run.entry_ids == [5, 1, 9]
    frames = [frame_of(1, txn_id=3 * at, read_request=part) for at, part in enumerate(parts_of(range(200)))]
    (run,) = received([b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)])
    assert run.entry_ids == range(200)


def test_the_rest_of_a_run_is_answered_under_its_own_numbers() -> None:
    frames = [frame_of(1, txn_id=10 + at, read_request=part) for at, part in enumerate(parts_of(range(3)))]
    (run,) = received([b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)])
    rest = run.rest(2)
    (whole, (at_rest,)) = run.replies([statuses.EIO] * 3, 0), rest.replies([statuses.EIO], 0)
    assert (rest.ledger_id, list(rest.entry_ids), whole[2]) == (7, [2], at_rest)

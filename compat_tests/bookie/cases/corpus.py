"""Every invalid input of the corpus, one case for each class."""

from collections.abc import Iterator, Sequence

from compat_tests.bookie.talk import Talk
from compat_tests.corpus.invalid_input import InvalidInput, load
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.judge.verdict import Mismatch
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.line import Line
from compat_tests.wire.replies import ConnectionClosed, Reply, Silence
from protocol_specs.wire.status import ENOLEDGER, STATUSES

_BY_NAME = {status.name: status for status in STATUSES}
_AT_A_TIME = 25
"""Connections that are open together: one at a time would take long, and all at once may be too many for a bookie."""
_WAITING_S = 0.2
"""How long a case looks at a bookie that has to wait for more bytes."""
_FAILURES_SHOWN = 8


@case(
    "BKW-CORPUS-001",
    MUST,
    "sec-frame-limit",
    sends="Every input of the class lengths: lengths of 0, over the limit, negative, the wrong way round, and frames "
    "that do not come; on new connections, and behind a good request.",
    accepts="Closed without a reply; where bytes are missing nothing, until the client ends its side.",
    provenance="corpus: lengths",
    limit_s=40.0,
)
def wrong_lengths(talk: Talk) -> None:
    """A bookie MUST close the connection on a length that no frame may have, and wait for the bytes of any other."""
    _try_all(talk, "lengths")


@case(
    "BKW-CORPUS-002",
    MUST,
    "sec-connection-broken",
    sends="Every input of the class foreign: what clients of HTTP, TLS, SSH, ZooKeeper, Kafka and others say first.",
    accepts="Closed without a reply.",
    provenance="corpus: foreign",
    limit_s=40.0,
)
def other_protocols(talk: Talk) -> None:
    """A bookie MUST close a connection on which something else is spoken, and answer nothing."""
    _try_all(talk, "foreign")


@case(
    "BKW-CORPUS-003",
    MUST,
    "sec-v2-packets",
    sends="Every input of the class v2-truncated: every packet of V2, cut at every byte within its fields.",
    accepts="Closed without a reply.",
    dialects=(V2,),
    provenance="corpus: v2-truncated; D10",
    limit_s=40.0,
)
def truncated_v2_packets(talk: Talk) -> None:
    """A bookie MUST close the connection on a V2 packet that is shorter than its fields."""
    _try_all(talk, "v2-truncated")


@case(
    "BKW-CORPUS-004",
    MUST,
    "sec-v2-header",
    sends="Every input of the class v2-operations: all codes that are no operation, under every sort of version.",
    accepts="Closed without a reply.",
    dialects=(V2,),
    provenance="corpus: v2-operations; D13",
    limit_s=40.0,
)
def unknown_v2_operations(talk: Talk) -> None:
    """A bookie MUST close the connection on a V2 operation that it does not know."""
    _try_all(talk, "v2-operations")


@case(
    "BKW-CORPUS-005",
    MUST,
    "sec-auth-v2",
    sends="Every input of the class v2-garbage: AUTH packets of V2 whose message is none.",
    accepts="Closed without a reply.",
    dialects=(V2,),
    provenance="corpus: v2-garbage",
    limit_s=40.0,
)
def v2_auth_messages_that_are_none(talk: Talk) -> None:
    """A bookie MUST close the connection on a V2 AUTH whose message does not parse, or lacks a field."""
    _try_all(talk, "v2-garbage")


@case(
    "BKW-CORPUS-006",
    MUST,
    "sec-v2-header",
    sends="Every input of the class v2-values: unknown versions, short entries, negative and extreme numbers.",
    accepts="The status that the corpus says; the connection is served further.",
    dialects=(V2,),
    provenance="corpus: v2-values",
    limit_s=40.0,
)
def v2_values_that_cannot_be_served(talk: Talk) -> None:
    """A bookie MUST answer V2 requests that it can read and cannot serve with a status, and go on."""
    _try_all(talk, "v2-values", without="" if "batch-read-v2" in talk.features else "batch-read")


@case(
    "BKW-CORPUS-007",
    MUST,
    "sec-detection",
    sends="Every input of the class v3-truncated: every request of V3, cut at every byte.",
    accepts="Closed without a reply.",
    dialects=(V3,),
    provenance="corpus: v3-truncated",
    limit_s=40.0,
)
def truncated_v3_requests(talk: Talk) -> None:
    """A bookie MUST close the connection on a V3 request that was cut short."""
    _try_all(talk, "v3-truncated")


@case(
    "BKW-CORPUS-008",
    MUST,
    "sec-detection",
    sends="Every input of the class v3-required: requests of V3 without each of their required fields.",
    accepts="Closed without a reply.",
    dialects=(V3,),
    provenance="corpus: v3-required",
    limit_s=40.0,
)
def v3_requests_without_a_required_field(talk: Talk) -> None:
    """A bookie MUST take a frame that lacks a required field of V3 for no V3, and close the connection."""
    _try_all(talk, "v3-required", without="" if "batch-read-v3" in talk.features else "batch-read")


@case(
    "BKW-CORPUS-009",
    MUST,
    "sec-detection",
    sends="Every input of the class v3-wire: field 0, wire types 6 and 7, open groups, varints and lengths too long.",
    accepts="Closed without a reply.",
    dialects=(V3,),
    provenance="corpus: v3-wire; BK#4780",
    limit_s=40.0,
)
def v3_frames_that_are_no_protobuf(talk: Talk) -> None:
    """A bookie MUST take a frame that is not all protobuf for no V3, and close the connection."""
    _try_all(talk, "v3-wire")


@case(
    "BKW-CORPUS-010",
    MUST,
    "sec-v3-request",
    sends="Every input of the class v3-values: short entries, negative and extreme ids, names that are no text.",
    accepts="The status that the corpus says; the connection is served further.",
    dialects=(V3,),
    provenance="corpus: v3-values",
    limit_s=40.0,
)
def v3_values_that_cannot_be_served(talk: Talk) -> None:
    """A bookie MUST answer V3 requests that it can read and cannot serve with a status, and go on."""
    _try_all(talk, "v3-values")


@case(
    "BKW-CORPUS-011",
    MUST,
    "sec-v3-request",
    sends="Every input of the class v3-bombs: deep groups, hundreds of thousands of fields, keys of megabytes.",
    accepts="What the corpus says, within seconds; others are served.",
    dialects=(V3,),
    provenance="corpus: v3-bombs",
    limit_s=40.0,
)
def v3_requests_that_are_costly_to_parse(talk: Talk) -> None:
    """A bookie MUST answer, or close the connection on, requests that are made to be costly, and serve others on."""
    _try_all(talk, "v3-bombs")


def _try_all(talk: Talk, class_name: str, without: str = "") -> None:
    _try(talk, [each for each in load(class_name) if not without or without not in each.name])


def _try(talk: Talk, inputs: Sequence[InvalidInput]) -> None:
    """Send each stream over a new connection, and report all deviations together."""
    pairs = [(each, number, stream) for each in inputs for number, stream in enumerate(each.streams)]
    wrong: list[str] = []
    for start in range(0, len(pairs), _AT_A_TIME):
        group = []
        for each, number, stream in pairs[start : start + _AT_A_TIME]:
            line = talk.line(f"{each.name} {number}")
            if each.dialect == "any":
                _speak_first(talk, line)
            line.send_bytes(stream)
            group.append((each, number, line))
        for each, number, line in group:
            wrong += [f"{each.name} {number}: {seen}" for seen in _judge(talk, each, line)]
            line.close()
    if wrong:
        more = f"; and {len(wrong) - _FAILURES_SHOWN} more" if len(wrong) > _FAILURES_SHOWN else ""
        shown = "; ".join(wrong[:_FAILURES_SHOWN]) + more
        talk.fail("what became of the inputs", expected="what the corpus says of each", seen=shown)
    talk.expect_open()


def _speak_first(talk: Talk, line: Line) -> None:
    """Have the protocol version of the case spoken on the connection first."""
    talk.expect(talk.requests.read(talk.new_ledger(), 0), ENOLEDGER, line)


def _judge(talk: Talk, each: InvalidInput, line: Line) -> Iterator[str]:
    """Yield the deviations from the corpus."""
    try:
        outcome = line.receive(_WAITING_S if each.connection == "waits" else None)
    except Mismatch as unreadable:
        yield unreadable.seen
        return
    if each.connection == "waits":
        if not isinstance(outcome, Silence):
            yield str(outcome)
            return
        line.half_close()
        outcome = line.receive()
    if each.connection in ("closed", "waits") and not isinstance(outcome, ConnectionClosed):
        yield str(outcome)
    if each.connection == "any" and isinstance(outcome, Silence):
        yield str(outcome)
    if each.connection == "open":
        yield from _judge_reply(talk, each, line, outcome)


def _judge_reply(
    talk: Talk, each: InvalidInput, line: Line, outcome: Reply | ConnectionClosed | Silence
) -> Iterator[str]:
    if not isinstance(outcome, Reply) or outcome.status is not _BY_NAME[each.status]:
        yield f"{outcome} instead of {each.status}"
        return
    if str(outcome.dialect) != each.dialect:
        yield f"a reply of {outcome.dialect}"
        return
    build = v2_requests if each.dialect == "V2" else v3_requests
    again = line.ask(build.read(talk.new_ledger(), 0))
    if not isinstance(again, Reply) or again.status is not ENOLEDGER:
        yield f"afterwards {again}"

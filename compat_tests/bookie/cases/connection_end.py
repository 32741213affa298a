"""Connections that say nothing, and how they end."""

from compat_tests.bookie.stored_entries import expect_stored, make_entry, wait_until_stored
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MAY, MUST, case
from compat_tests.wire.line import with_length
from compat_tests.wire.replies import ConnectionClosed, Reply
from protocol_specs.wire.status import ENOLEDGER, EOK


@case(
    "BKW-FRAME-010",
    MUST,
    "sec-framing",
    sends="An add, nothing for 1.3 seconds, another add, on a connection that was idle before, too.",
    accepts="EOK to both.",
    provenance="the source of Java 4.9 to 4.18",
)
def an_idle_connection_stays(talk: Talk) -> None:
    """A bookie MUST serve a connection on which nothing was said for a while, before the first frame or after it."""
    ledger = talk.new_ledger()
    waiting = talk.line("silent from the start")
    talk.expect(talk.requests.add(ledger, 0), EOK)
    talk.wait(1.3)
    talk.expect(talk.requests.add(ledger, 1), EOK)
    talk.expect(talk.requests.read(ledger, 1), EOK, waiting)


@case(
    "BKW-FRAME-011",
    MUST,
    "sec-half-close",
    sends="Ten adds, and behind them the end of the client's side of the connection.",
    accepts="All ten entries are stored; the bookie closes its side, too.",
    provenance="RFC 9293; seen of Java 4.9.2 to 4.18.0",
)
def what_came_before_the_end_of_a_client_is_carried_out(talk: Talk) -> None:
    """A bookie MUST carry out the whole frames that came before a client ended its side, then close its own."""
    ledger = talk.new_ledger()
    line = talk.line("ending")
    bodies = [make_entry(ledger, entry_id) for entry_id in range(10)]
    line.send(*(talk.requests.add(ledger, entry_id, body=body) for entry_id, body in enumerate(bodies)))
    line.half_close()
    while isinstance(outcome := line.receive(), Reply):
        talk.check_reply(outcome, EOK)
    talk.check_that(isinstance(outcome, ConnectionClosed), "the connection", "closed by the bookie, too", outcome)
    wait_until_stored(talk, ledger, len(bodies), "the adds before the end")
    expect_stored(talk, ledger, bodies)


@case(
    "BKW-FRAME-012",
    MAY,
    "sec-half-close",
    sends="Ten adds, and behind them the end of the client's side of the connection.",
    accepts="EOK to each; then the connection is closed.",
    provenance="RFC 9293; Netty and Twisted close both sides unless told otherwise",
)
def replies_still_come_to_a_client_that_has_ended_its_side(talk: Talk) -> None:
    """A bookie MAY send the replies to what came before the client ended its side: only one direction is closed."""
    ledger = talk.new_ledger()
    line = talk.line("ending")
    frames = [talk.requests.add(ledger, entry_id) for entry_id in range(10)]
    line.send(*frames)
    line.half_close()
    for frame in frames:
        talk.expect_answer(frame, EOK, line)
    talk.expect_closed(line)


@case(
    "BKW-FRAME-013",
    MUST,
    "sec-half-close",
    sends="An add without its last ten bytes, and the end of the client's side.",
    accepts="The connection closed without a reply; nothing is stored.",
    provenance="the source of Java 4.9 to 4.18",
)
def half_a_frame_is_none(talk: Talk) -> None:
    """A bookie MUST NOT carry out a frame whose connection ended before it was whole, and MUST close that one."""
    ledger = talk.new_ledger()
    line = talk.line("ending")
    line.send_bytes(with_length(talk.requests.add(ledger, 0))[:-10])
    line.half_close()
    talk.expect_closed(line)
    talk.expect(talk.requests.read(ledger, 0), ENOLEDGER)


@case(
    "BKW-FRAME-017",
    MUST,
    "sec-half-close",
    sends="A read; after its reply the end of the client's side.",
    accepts="The connection closed by the bookie.",
    provenance="a connection that nobody ends is a descriptor lost",
)
def a_client_that_leaves_is_let_go(talk: Talk) -> None:
    """A bookie MUST close its side of a connection whose client has ended the other and waits for nothing."""
    line = talk.line("leaving")
    talk.expect(talk.requests.read(talk.new_ledger(), 0), ENOLEDGER, line)
    line.half_close()
    outcome = line.receive()
    talk.check_that(isinstance(outcome, ConnectionClosed), "the connection", "closed", outcome)

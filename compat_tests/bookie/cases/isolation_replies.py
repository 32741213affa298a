"""Replies go to the connection of their request, and each request has one."""

from compat_tests.bookie.pipeline import collect, statuses
from compat_tests.bookie.stored_entries import fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import entry
from protocol_specs import fields
from protocol_specs.wire.status import EOK


@case(
    "BKW-ISOL-010",
    MUST,
    "sec-v2-matching",
    sends="The same reads, with the same numbers, on five connections at once; each of ledgers of its own.",
    accepts="On each connection one reply to each of its own requests, with its own entries, and no other.",
    provenance="BK#719, BK#720",
    limit_s=20.0,
)
def replies_go_to_the_connection_that_asked(talk: Talk) -> None:
    """A bookie MUST send a reply over the connection of its request, though others ask under the same number."""
    names = [f"client {index}" for index in range(5)]
    ledgers = {name: talk.new_ledger() for name in names}
    for ledger in ledgers.values():
        fill(talk, ledger, 10)
    requests = {}
    for name, ledger in ledgers.items():
        frames = [talk.requests.read(ledger, entry_id) for entry_id in range(10)]
        if talk.dialect is V3:
            frames = [v3_requests.read(ledger, entry_id, txn_id=entry_id) for entry_id in range(10)]
        requests[name] = frames
        talk.line(name).send(*frames)
    for name, frames in requests.items():
        replies = collect(talk.line(name), frames)
        talk.check(
            f"the entries of {name}", [r.body for r in replies], [make_entry(ledgers[name], e) for e in range(10)]
        )
    for name in names:
        talk.expect_silence(talk.line(name), 0.02)


@case(
    "BKW-ISOL-011",
    MUST,
    "sec-v2-matching",
    sends="The same read 20 times in one segment, of an entry, of the last one, and of one that is not there.",
    accepts="20 replies to each: the entry, the entry, ENOENTRY.",
    provenance="BK#719, BK#720, BK#1547",
)
def equal_requests_each_have_a_reply(talk: Talk) -> None:
    """A bookie MUST answer each of several equal requests in flight, once."""
    ledger = talk.new_ledger()
    (body,) = fill(talk, ledger, 1)
    for entry_id, status, wanted in ((0, "EOK", body), (fields.LAST_ENTRY, "EOK", body), (7, "ENOENTRY", b"")):
        frames = [talk.requests.read(ledger, entry_id) for _ in range(20)]
        talk.main.send(*frames)
        replies = collect(talk.main, frames)
        talk.check("the statuses", statuses(replies), [status] * 20)
        talk.check("the entries", {reply.body for reply in replies}, {wanted})
    talk.expect_silence(talk.main, 0.1)


@case(
    "BKW-ISOL-012",
    MUST,
    "sec-long-poll-wait",
    sends="Long polls of a minute on five ledgers, and behind them on the same connection adds and reads; then adds "
    "that end the waits.",
    accepts="The adds and reads answered while the polls wait; the polls when their ledgers go on.",
    dialects=(V3,),
    needs=("long-poll",),
    provenance="the source of Java 4.9 to 4.18",
)
def a_request_that_waits_holds_up_no_other(talk: Talk) -> None:
    """A bookie MUST answer other requests of a connection while a long poll on it waits."""
    waiting = [talk.new_ledger() for _ in range(5)]
    for ledger in waiting:
        talk.expect(v3_requests.add(ledger, 0, txn_id=talk.requests.number()), EOK)
    polls = [v3_requests.poll(ledger, 50, 60_000, txn_id=talk.requests.number()) for ledger in waiting]
    talk.main.send(*polls)
    ledger = talk.new_ledger()
    for entry_id in range(5):
        for frame in (talk.requests.add(ledger, entry_id), talk.requests.read(ledger, entry_id)):
            talk.main.send(frame)
            talk.check_reply(talk.expect_reply(talk.main.receive_for(frame)), EOK)
    for waited_for in waiting:
        talk.expect(talk.requests.add(waited_for, 1, body=entry(waited_for, 1, 51)), EOK)
    for poll in polls:
        talk.expect_answer(poll, EOK)


@case(
    "BKW-ISOL-013",
    MUST,
    "sec-framing",
    sends="300 connections, each opened and closed at once, half of them with a reset; adds in between.",
    accepts="EOK to every add.",
    provenance="D5: no harm to others",
    limit_s=20.0,
)
def connections_that_come_and_go_harm_nobody(talk: Talk) -> None:
    """A bookie MUST serve its clients while connections come and go that say nothing."""
    ledger = talk.new_ledger()
    for index in range(300):
        line = talk.line(f"short {index}")
        if index % 2:
            line.reset()
        else:
            line.close()
        if index % 30 == 0:
            talk.expect(talk.requests.add(ledger, index // 30), EOK)

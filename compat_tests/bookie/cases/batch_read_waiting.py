"""Batch read over V3 that waits for the last add confirmed, as a long poll does."""

import time
from functools import partial

from compat_tests.bookie.batches import PLENTY, SINCE, check_prefix
from compat_tests.bookie.runs import check_part, store_run
from compat_tests.bookie.talk import Talk
from compat_tests.bookie.waits import LONG_MS, SHORT_MS, expect_wait, in_time, with_update_time
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.replies import Reply
from protocol_specs.wire.status import ENOLEDGER, EOK

_NEEDS = ("batch-read-v3", "long-poll")


@case(
    "BKW-BATCH-041",
    MUST,
    "sec-batch-read-v3",
    sends="V3 batch reads with a `time_out` of a minute and a `previous_lac` below the last add confirmed; with"
    " one that is not, and without, 0 or a negative `time_out`; of an unknown ledger.",
    accepts="Each at once: the entries and `max_lac`, without `lac_update_timestamp`; ENOLEDGER for the unknown one.",
    dialects=(V3,),
    since=SINCE,
    needs=_NEEDS,
    provenance="BP-62",
)
def a_v3_batch_with_nothing_to_wait_for_is_answered_at_once(talk: Talk) -> None:
    """A V3 batch read with `previous_lac` MUST NOT wait where the last add confirmed is above it, where there is no
    time to wait, or no ledger."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 41])
    for previous, time_out in ((-1, LONG_MS), (0, None), (0, 0), (0, -1)):
        frame = _batch(talk, ledger, 1, previous, time_out)
        reply = in_time(talk, partial(talk.ask, frame))
        check_part(talk, reply, EOK, ledger_id=ledger, start_entry_id=1, body=bodies[1:], max_lac=0)
    frame = _batch(talk, unknown, 0, 0, LONG_MS)
    talk.check_reply(in_time(talk, partial(talk.ask, frame)), ENOLEDGER, entries=())


@case(
    "BKW-BATCH-042",
    MUST,
    "sec-batch-read-v3",
    sends="A V3 batch read with a `previous_lac` that is the last add confirmed, then an add on another connection.",
    accepts="Nothing until the add; then the entries, `max_lac`, and the time of the update.",
    dialects=(V3,),
    since=SINCE,
    needs=_NEEDS,
    provenance="BP-62",
)
def a_v3_batch_waits_for_the_last_add_confirmed(talk: Talk) -> None:
    """A V3 batch read with `previous_lac` MUST wait until the last add confirmed passes it, and bring what is stored
    then."""

    def attempt(settle_s: float) -> Reply:
        ledger = talk.new_ledger()
        bodies = store_run(talk, ledger, [41, 41])
        reader, frame = talk.line("reader"), _batch(talk, ledger, 1, 0, LONG_MS)
        reader.send(frame)
        expect_wait(talk, reader, frame, settle_s=settle_s)
        talk.expect(talk.requests.add(ledger, 2), EOK)
        reply = talk.expect_answer(frame, EOK, reader, max_lac=1)
        talk.check("the first of the entries", reply.entries[:1], tuple(bodies[1:2]))
        talk.check_that(len(reply.entries) <= 2, "the number of entries", "at most 2", len(reply.entries))
        return reply

    with_update_time(talk, attempt)


@case(
    "BKW-BATCH-043",
    MUST,
    "sec-batch-read-v3",
    sends="A V3 batch read with a `previous_lac` that is the last add confirmed and a `time_out` of 300 ms.",
    accepts="After that time: the entries and `max_lac`, without `lac_update_timestamp`.",
    dialects=(V3,),
    since=SINCE,
    needs=_NEEDS,
    provenance="BP-62",
)
def a_v3_batch_whose_wait_is_over_is_read_all_the_same(talk: Talk) -> None:
    """That the time of a waiting batch read is over is no error: it MUST be answered with what is stored then."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 41])
    frame = _batch(talk, ledger, 0, 0, SHORT_MS)
    started = time.monotonic()
    reply = talk.expect(frame, EOK, max_lac=0, lac_update_timestamp=None)
    waited_ms = (time.monotonic() - started) * 1000
    talk.check_that(waited_ms > SHORT_MS * 0.9, "the wait", f"{SHORT_MS} ms", f"{waited_ms:.0f} ms")
    check_prefix(talk, reply, bodies)


def _batch(talk: Talk, ledger: int, start: int, previous_lac: int, time_out: int | None) -> bytes:
    options = {"previous_lac": previous_lac, "time_out": time_out, "txn_id": talk.requests.number()}
    return v3_requests.batch_read(ledger, start, 100, PLENTY, **options)

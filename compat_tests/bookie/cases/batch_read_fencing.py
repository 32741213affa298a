"""Batch read: fencing, and that nothing else fences."""

from compat_tests.bookie.batches import NEEDS, PLENTY, SINCE, expect_prefix
from compat_tests.bookie.runs import check_part, store_run
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import KEY
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import EFENCED, ENOENTRY, EOK

_LONG_MS = 60_000


@case(
    "BKW-BATCH-030",
    MUST,
    "sec-batch-read-flags",
    sends="A batch read with the fencing flag and the ledger's key, then adds with and without the recovery flag.",
    accepts="The entries; a plain add is EFENCED and not stored, a recovery add EOK and served in the next batch.",
    since=SINCE,
    needs=NEEDS,
    provenance="BK#4051, the source of Java 4.17 and 4.18",
)
def a_batch_read_can_fence(talk: Talk) -> None:
    """A batch read with the fencing flag and the right key MUST fence the ledger, once and before it reads, as a single
    read does."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41, 57, 41])
    expect_prefix(talk, talk.requests.batch_read(ledger, 0, 3, PLENTY, fencing=True, key=KEY), bodies)
    talk.expect(talk.requests.add(ledger, 3), EFENCED)
    talk.expect(talk.requests.batch_read(ledger, 3, 1, PLENTY), ENOENTRY, entries=())
    frame = talk.requests.add(ledger, 3, recovery=True)
    talk.expect(frame, EOK)
    reply = talk.expect(talk.requests.batch_read(ledger, 3, 1, PLENTY, fencing=True, key=KEY), EOK)
    talk.check("the number of entries behind a recovery add", len(reply.entries), 1)


@case(
    "BKW-BATCH-033",
    MUST,
    "sec-batch-read-v3",
    sends="A V3 fencing batch read with a `previous_lac` far ahead and a `time_out` of a minute.",
    accepts="EOK at once, with the entries and without `max_lac`; an add is EFENCED.",
    dialects=(V3,),
    since=SINCE,
    needs=("batch-read-v3",),
    provenance="BP-62",
)
def a_v3_batch_that_fences_tells_no_lac_and_does_not_wait(talk: Talk) -> None:
    """With the fencing flag a V3 batch read MUST NOT wait, whatever `previous_lac` says, and its reply has no
    `max_lac`."""
    ledger = talk.new_ledger()
    bodies = store_run(talk, ledger, [41])
    fence = v3_pb2.BatchReadRequest.FENCE_LEDGER
    for options in ({}, {"previous_lac": 1000, "time_out": _LONG_MS}):
        frame = v3_requests.batch_read(ledger, 0, 1, PLENTY, key=KEY, flag=fence, **options)
        check_part(talk, talk.ask(frame), EOK, ledger_id=ledger, start_entry_id=0, body=bodies)
    talk.expect(talk.requests.add(ledger, 1), EFENCED)

"""Many reads under way at once, and reads beside adds: each has its own reply, and sees what was acknowledged."""

from compat_tests.bookie.pipeline import ask_all, collect, statuses
from compat_tests.bookie.stored_entries import expect_stored, fill, make_entry
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, case
from protocol_specs.fields import LAST_ENTRY


@case(
    "BKW-READ-021",
    MUST,
    "sec-order",
    sends="100 reads in one segment: of entries that are there, in no order, of missing ones, of unknown ledgers, of "
    "the last.",
    accepts="One reply for each, with what was asked for.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def reads_sent_together_are_answered_one_by_one(talk: Talk) -> None:
    """A bookie MUST answer each of many reads on one connection with its own entry, or its own error."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    bodies = fill(talk, ledger, 60)
    entry_ids = [*range(70), *(each for each in range(0, 70, 3))]
    talk.random.shuffle(entry_ids)
    frames = [talk.requests.read(ledger, entry_id) for entry_id in entry_ids]
    frames += [talk.requests.read(unknown, entry_id) for entry_id in range(5)]
    frames.append(talk.requests.read(ledger, LAST_ENTRY))
    replies = ask_all(talk.main, frames)
    wanted = ["EOK" if entry_id < 60 else "ENOENTRY" for entry_id in entry_ids] + ["ENOLEDGER"] * 5 + ["EOK"]
    talk.check("the statuses", statuses(replies), wanted)
    expected = [bodies[entry_id] if entry_id < 60 else b"" for entry_id in entry_ids] + [b""] * 5 + [bodies[-1]]
    for reply, body in zip(replies, expected, strict=True):
        talk.check(f"entry {reply.entry_id}", reply.body, body)


@case(
    "BKW-READ-023",
    MUST,
    "sec-order",
    sends="Reads of entries that are there on three connections, while 100 adds are under way on a fourth.",
    accepts="All reads bring their entries, all adds are acknowledged.",
    provenance="seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def reads_go_on_beside_adds(talk: Talk) -> None:
    """A bookie MUST serve reads while adds to the same ledger are under way."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 30)
    writer = talk.line("writer")
    adds = [talk.requests.add(ledger, entry_id, body=make_entry(ledger, entry_id)) for entry_id in range(30, 130)]
    readers = [talk.line(f"reader {index}") for index in range(3)]
    reads = [[talk.requests.read(ledger, entry_id) for entry_id in range(30)] for _ in readers]
    writer.send(*adds)
    for reader, frames in zip(readers, reads, strict=True):
        reader.send(*frames)
    for reader, frames in zip(readers, reads, strict=True):
        for entry_id, reply in enumerate(collect(reader, frames)):
            talk.check(f"entry {entry_id}", reply.body, make_entry(ledger, entry_id))
    talk.check("the statuses of the adds", statuses(collect(writer, adds)), ["EOK"] * len(adds))
    expect_stored(talk, ledger, {entry_id: make_entry(ledger, entry_id) for entry_id in range(130)})


@case(
    "BKW-READ-024",
    MUST,
    "sec-read-entry-v2",
    sends="Ten entries of 100 kB, all read in one segment.",
    accepts="Each comes byte for byte, in whatever order.",
    provenance="BK#4196; seen of Java 4.9.2, 4.16.6 and 4.18.0",
)
def large_entries_read_together_are_not_mixed_up(talk: Talk) -> None:
    """A bookie MUST NOT mix up the bytes of replies that are under way at the same time."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 10, size=100_000)
    replies = ask_all(talk.main, [talk.requests.read(ledger, entry_id) for entry_id in range(10)])
    for entry_id, reply in enumerate(replies):
        talk.check(f"entry {entry_id}", reply.body, bodies[entry_id])

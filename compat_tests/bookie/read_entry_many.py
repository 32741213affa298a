"""Many reads under way at once, and reads beside adds: each has its own reply, and sees what was acknowledged."""

from compat_tests.bookie.pipeline import ask_all, collect, statuses
from compat_tests.bookie.stored import expect_stored, fill, made
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, V2, case
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.status import EOK


@case(
    "BKW-READ-020",
    MUST,
    "sec-v2-matching",
    sends="The same read twenty times in one segment.",
    accepts="Twenty replies with the entry, and no more.",
    provenance="BK#719, BK#720",
)
def equal_reads_sent_together_each_have_a_reply(talk: Talk) -> None:
    """A bookie MUST answer each of several equal reads, once."""
    ledger = talk.new_ledger()
    (body,) = fill(talk, ledger, 1, size=1000)
    replies = ask_all(talk.main, [talk.requests.read(ledger, 0) for _ in range(20)])
    talk.check("the entries", [reply.body for reply in replies], [body] * 20)
    talk.expect_silence(talk.main, 0.1)


@case(
    "BKW-READ-021",
    MUST,
    "sec-order",
    sends="100 reads in one segment: of entries that are there, in no order, of missing ones, of unknown ledgers, of "
    "the last.",
    accepts="One reply for each, with what was asked for.",
)
def reads_sent_together_are_answered_one_by_one(talk: Talk) -> None:
    """A bookie MUST answer each of many reads on one connection with its own entry, or its own error."""
    ledger, unknown = talk.new_ledger(), talk.new_ledger()
    bodies = fill(talk, ledger, 60)
    asked = [*range(70), *(each for each in range(0, 70, 3))]
    talk.random.shuffle(asked)
    frames = [talk.requests.read(ledger, entry_id) for entry_id in asked]
    frames += [talk.requests.read(unknown, entry_id) for entry_id in range(5)]
    frames.append(talk.requests.read(ledger, LAST_ENTRY))
    replies = ask_all(talk.main, frames)
    wanted = ["EOK" if entry_id < 60 else "ENOENTRY" for entry_id in asked] + ["ENOLEDGER"] * 5 + ["EOK"]
    talk.check("the statuses", statuses(replies), wanted)
    expected = [bodies[entry_id] if entry_id < 60 else b"" for entry_id in asked] + [b""] * 5 + [bodies[-1]]
    for reply, body in zip(replies, expected, strict=True):
        talk.check(f"entry {reply.entry_id}", reply.body, body)


@case(
    "BKW-READ-022",
    MUST,
    "sec-order",
    sends="40 adds, each followed by reads on the same connection and on two others as soon as it is acknowledged.",
    accepts="Every read brings the entry, by its id and as the last one.",
    provenance="S13",
)
def what_was_acknowledged_is_read_at_once_and_everywhere(talk: Talk) -> None:
    """A bookie MUST return an entry to any read that comes after it was acknowledged, on whatever connection."""
    ledger = talk.new_ledger()
    lines = [talk.main, talk.line("reader 1"), talk.line("reader 2")]
    for entry_id in range(40):
        body = made(ledger, entry_id)
        talk.expect(talk.requests.add(ledger, entry_id, body=body), EOK)
        for line in lines:
            talk.expect(talk.requests.read(ledger, entry_id), EOK, line, body=body)
            talk.expect(talk.requests.read(ledger, LAST_ENTRY), EOK, line, body=body)


@case(
    "BKW-READ-023",
    MUST,
    "sec-order",
    sends="Reads of entries that are there on three connections, while 100 adds are under way on a fourth.",
    accepts="All reads bring their entries, all adds are acknowledged.",
)
def reads_go_on_beside_adds(talk: Talk) -> None:
    """A bookie MUST serve reads while adds to the same ledger are under way."""
    ledger = talk.new_ledger()
    fill(talk, ledger, 30)
    writer = talk.line("writer")
    adds = [talk.requests.add(ledger, entry_id, body=made(ledger, entry_id)) for entry_id in range(30, 130)]
    readers = [talk.line(f"reader {index}") for index in range(3)]
    reads = [[talk.requests.read(ledger, entry_id) for entry_id in range(30)] for _ in readers]
    writer.send(*adds)
    for reader, frames in zip(readers, reads, strict=True):
        reader.send(*frames)
    for reader, frames in zip(readers, reads, strict=True):
        for entry_id, reply in enumerate(collect(reader, frames)):
            talk.check(f"entry {entry_id}", reply.body, made(ledger, entry_id))
    talk.check("the statuses of the adds", statuses(collect(writer, adds)), ["EOK"] * len(adds))
    expect_stored(talk, ledger, {entry_id: made(ledger, entry_id) for entry_id in range(130)})


@case(
    "BKW-READ-024",
    MUST,
    "sec-read-entry-v2",
    sends="Ten entries of 100 kB, all read in one segment.",
    accepts="Each comes byte for byte, in whatever order.",
)
def large_entries_read_together_are_not_mixed_up(talk: Talk) -> None:
    """A bookie MUST NOT mix up the bytes of replies that are under way at the same time."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 10, size=100_000)
    replies = ask_all(talk.main, [talk.requests.read(ledger, entry_id) for entry_id in range(10)])
    for entry_id, reply in enumerate(replies):
        talk.check(f"entry {entry_id}", reply.body, bodies[entry_id])


@case(
    "BKW-READ-025",
    MUST,
    "sec-read-entry-v2",
    sends="A read whose ids are followed by the next request without anything between, and one in two segments.",
    accepts="Both are answered, each with its own entry.",
    dialects=(V2,),
)
def requests_are_told_apart_by_their_lengths_alone(talk: Talk) -> None:
    """A bookie MUST tell requests apart by the lengths of their frames, not by what a segment brings."""
    ledger = talk.new_ledger()
    bodies = fill(talk, ledger, 3)
    frames = [talk.requests.read(ledger, 0, key=bytes(7)), talk.requests.read(ledger, 1), talk.requests.read(ledger, 2)]
    data = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    talk.main.send_bytes(data[:40])
    talk.check("the first entry", talk.answer(frames[0]).body, bodies[0])
    talk.main.send_bytes(data[40:])
    talk.check("the second entry", talk.answer(frames[1]).body, bodies[1])
    talk.check("the third entry", talk.answer(frames[2]).body, bodies[2])

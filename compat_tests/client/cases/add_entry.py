"""Adds: what a writer sends, and what it takes for an acknowledgement."""

import operator

from compat_tests.client.client_requests import ClientRequest
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.sealing import DIGEST_NAMES, Seal, master_key
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, SHOULD, V2, V3, case
from protocol_specs import fields
from protocol_specs.entry.version import metadata_of
from protocol_specs.wire import framing, v3_pb2
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import EOK

NOT_YET_S = 0.3
"""How long a case watches for an event that must not happen."""


def _adds(bookie: ScriptedBookie) -> list[ClientRequest]:
    return bookie.requests("add")


@case(
    "BKW-CWRITE-001",
    MUST,
    "sec-add-entry-v2",
    dialects=(V2,),
    sends="An append on a new ledger of one bookie.",
    accepts="One frame: version 2, operation 1, flags 0, the master key, then the entry.",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def an_add_of_v2_is_header_key_and_entry(stage: Stage) -> None:
    """A client MUST send an add as packet header, master key and entry, without flags."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie], password=b"testPasswd")
    writer.append(b"hello")
    (add,) = _adds(bookie)
    stage.check("the header", add.raw[:4], framing.join_header(2, Operation.ADD_ENTRY).to_bytes(4, "big"))
    stage.check("the master key", add.raw[4:24], master_key(b"testPasswd"))
    expected = Seal("CRC32C", b"testPasswd").entry(writer.ledger_id, 0, fields.NO_ENTRY, 5, b"hello")
    stage.check("the entry", add.raw[24:], expected)


@case(
    "BKW-CWRITE-002",
    MUST,
    "sec-add-entry-v3",
    dialects=(V3,),
    sends="Two appends on a new ledger of one bookie.",
    accepts="Operation 2, version 3, a transaction id each, the ids of the entry, its key and its bytes; no flag.",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def an_add_of_v3_names_what_it_carries(stage: Stage) -> None:
    """A client MUST send an add with version 3, a new transaction id, and the ids that stand in the entry."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie], password=b"testPasswd")
    writer.append(b"hello")
    writer.append(b"hello")
    adds = _adds(bookie)
    stage.check("the number of adds", len(adds), 2)
    stage.check_that(adds[0].number != adds[1].number, "the transaction ids", "two different ones", adds[0].number)
    for entry_id, add in enumerate(adds):
        part = add.message.add_request
        stage.check("the version", add.version, 3)
        stage.check("the ids", (part.ledger_id, part.entry_id), (writer.ledger_id, entry_id))
        stage.check("the ids in the entry", metadata_of(part.body)[:2], (writer.ledger_id, entry_id))
        stage.check("the master key", part.master_key, master_key(b"testPasswd"))
        recovery = part.HasField("flag") and part.flag == v3_pb2.AddRequest.RECOVERY_ADD
        stage.check("flag recovery add", recovery, False)
        stage.check("the write flags", part.write_flags, 0)


@case(
    "BKW-CWRITE-003",
    MUST,
    "sec-digests",
    sends="Appends of 0, 1 and 1000 bytes with each digest type and a password.",
    accepts="Entries whose digest is right, behind 32 bytes of metadata, and the payload behind it.",
    provenance="docs: worked digest values",
)
def entries_are_sealed_with_the_digest_of_the_ledger(stage: Stage) -> None:
    """A client MUST seal each entry with the ledger's digest type, over metadata and payload."""
    (bookie,) = stage.bookies(1)
    payloads = (b"", b"x", bytes(range(250)) * 4)
    for digest in DIGEST_NAMES:
        seal = Seal(digest, b"testPasswd")
        writer = stage.client.create(1, digest=digest, password=b"testPasswd")
        for payload in payloads:
            writer.append(payload)
        for entry_id, payload in enumerate(payloads):
            entry = bookie.entry(writer.ledger_id, entry_id)
            stage.check(f"payload {entry_id} with {digest}", seal.payload_of(entry), payload)
            stage.check_that(seal.right(entry), f"the digest {digest}", "right", entry)


@case(
    "BKW-CWRITE-004",
    MUST,
    "sec-master-key",
    sends="Appends to ledgers with an empty password, and with one that is no text.",
    accepts="SHA-1 of `ledger` and the password in each add.",
    provenance="docs: worked keys",
)
def the_master_key_is_made_of_the_password(stage: Stage) -> None:
    """A client MUST send SHA-1 of `ledger` + password as master key, also for the empty password."""
    (bookie,) = stage.bookies(1)
    for password in (b"", bytes(range(256))):
        writer = stage.client.create(1, password=password)
        writer.append()
        (add,) = bookie.requests("add", ledger_id=writer.ledger_id)
        stage.check("the master key", add.key, master_key(password))


@case(
    "BKW-CWRITE-005",
    MUST,
    "sec-entry-v1",
    sends="Appends one after the other; then three at once whose acknowledgements are held back.",
    accepts="Each entry has the last add confirmed of the moment it was sent, or an older one: nothing unacknowledged.",
    provenance="seen with Java's client 4.18.0",
)
def an_entry_tells_what_was_acknowledged_when_it_was_sent(stage: Stage) -> None:
    """A client MUST put into an entry a last add confirmed that was acknowledged, and SHOULD put the newest."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie])
    for _ in range(3):
        writer.append()
    reported = [metadata_of(entry)[2] for entry in bookie.entries(writer.ledger_id).values()]
    _no_more_than(stage, "the last add confirmed in entries 0 to 2", reported, [-1, 0, 1])
    gate = bookie.on("add").hold()
    pending = writer.begin_append_many([b"a", b"b", b"c"])
    stage.together(lambda: len(gate.requests), 3)
    held = gate.requests
    _no_more_than(
        stage, "the last add confirmed in entries 3 to 5", [metadata_of(add.body)[2] for add in held], [2] * 3
    )
    bookie.honest_again()
    gate.release()
    stage.check("the ids", writer.outcomes(pending).entries, (3, 4, 5))


def _no_more_than(stage: Stage, what: str, reported: list[int], newest: list[int]) -> None:
    stage.check_that(len(reported) == len(newest), f"{what}: how many", str(len(newest)), reported)
    stage.check_that(all(map(operator.le, reported, newest)), what, f"{newest} at most", reported)
    if reported != newest:
        stage.tolerate(f"{what} is not the newest: {reported}")


@case(
    "BKW-CWRITE-006",
    MUST,
    "sec-entry-v1",
    sends="Appends of 5, 0, 300 and 1 bytes.",
    accepts="Entries whose length is the sum of all payloads so far, their own included.",
    provenance="seen with Java's client 4.18.0",
)
def the_length_in_an_entry_is_cumulative(stage: Stage) -> None:
    """A client MUST write into each entry the payload bytes of the ledger so far, this entry's included."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie])
    for size in (5, 0, 300, 1):
        writer.append(bytes(size))
    lengths = [metadata_of(entry)[3] for entry in bookie.entries(writer.ledger_id).values()]
    stage.check("the lengths", lengths, [5, 5, 305, 306])


@case(
    "BKW-CWRITE-007",
    MUST,
    "sec-quorums",
    sends="Six appends to a ledger with E = 3 and W = 2.",
    accepts="Entry e on the bookies at places e mod 3 and the next one, and on no other.",
    provenance="seen with Java's client 4.18.0",
)
def an_entry_goes_to_its_write_set(stage: Stage) -> None:
    """A client MUST send entry e to the W bookies from place e mod E on, and to no other."""
    bookies = stage.bookies(3)
    writer = stage.new_writer(bookies, write=2)
    for _ in range(6):
        writer.append()
    for place, bookie in enumerate(stage.ensemble(writer.ledger_id)):
        expected = [entry_id for entry_id in range(6) if place in (entry_id % 3, (entry_id + 1) % 3)]
        stage.check(f"entries at place {place}", sorted(bookie.entries(writer.ledger_id)), expected)


@case(
    "BKW-CWRITE-016",
    MUST,
    "sec-entry-v1",
    sends="Appends of 1 MB and of 4 MB.",
    accepts="Both are stored as they were appended, and acknowledged.",
    limit_s=30.0,
    provenance="seen with Java's client 4.18.0",
)
def large_entries_arrive_whole(stage: Stage) -> None:
    """A client MUST be able to append entries up to the frame limit."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie])
    payloads = [stage.random.randbytes(size) for size in (1_000_000, 4_000_000)]
    for payload in payloads:
        writer.append(payload)
    seal = Seal()
    for entry_id, payload in enumerate(payloads):
        entry = bookie.entry(writer.ledger_id, entry_id)
        stage.check(f"payload {entry_id}", seal.payload_of(entry), payload)
        stage.check(f"digest {entry_id}", seal.right(entry), True)


@case(
    "BKW-CWRITE-017",
    SHOULD,
    "sec-frame-limit",
    sends="An append of 5 MiB, which no frame can hold.",
    accepts="An error, and no frame over the limit; the next append goes well on the same bookie.",
    limit_s=30.0,
    provenance="captures: bookies close the connection on a longer frame",
)
def what_no_frame_can_hold_is_refused(stage: Stage) -> None:
    """A client SHOULD refuse an entry over the frame limit itself: a bookie would close the connection on it."""
    (bookie,) = stage.bookies(1)
    writer = stage.new_writer([bookie])
    pending = writer.begin("append", body=bytes(fields.FRAME_SIZE_MAX))
    stage.expect_error(pending, timeout_s=12.0)
    stage.check("the id of the next append", writer.append(), 0)
    stage.check("connections", bookie.connection_count, 1)


@case(
    "BKW-CWRITE-018",
    MUST,
    "sec-force-ledger-client",
    dialects=(V3,),
    sends="Appends with deferred sync, then a force.",
    accepts="Bit 0 of write_flags in each add; the last add confirmed moves with the force, which asks all bookies.",
    provenance="seen with Java's client 4.18.0",
)
def with_deferred_sync_only_a_force_confirms(stage: Stage) -> None:
    """A client MUST NOT take an acknowledgement for a confirmation where the sync is deferred."""
    bookies = stage.bookies(2)
    writer = stage.client.create(2, deferred_sync=True)
    writer.append()
    writer.append()
    stage.check("write flags", [add.deferred_sync for add in _adds(bookies[0])], [True, True])
    reported = [metadata_of(add.body)[2] for add in _adds(bookies[0])]
    stage.check("the last add confirmed in the entries", reported, [-1, -1])
    stage.check("the last add confirmed before the force", writer.last_add_confirmed(), fields.NO_ENTRY)
    gate = bookies[1].on("force").hold()
    pending = writer.begin("force")
    gate.wait()
    stage.wait(NOT_YET_S)
    stage.check("forced by one of two bookies", pending.done, False)
    gate.release(status=EOK)
    pending.result()
    stage.check("the last add confirmed after the force", writer.last_add_confirmed(), 1)
    stage.check("whether each was asked to force", [bool(each.requests("force")) for each in bookies], [True, True])


@case(
    "BKW-CWRITE-019",
    MUST,
    "sec-force-ledger",
    dialects=(V2,),
    sends="A ledger with deferred sync and an append to it, over V2.",
    accepts="An error; no add reaches a bookie.",
    provenance="seen with Java's client 4.18.0",
)
def v2_cannot_defer_the_sync(stage: Stage) -> None:
    """A client MUST refuse deferred sync over V2 itself: there is no bit for it."""
    (bookie,) = stage.bookies(1)

    def write() -> None:
        stage.client.create(1, deferred_sync=True).append()

    stage.expect_error(write)
    stage.check("adds", _adds(bookie), [])

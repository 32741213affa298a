"""Reading single entries: which bookies a client asks, in which order, and what it makes of errors."""

from compat_tests.client import client_requests as names
from compat_tests.client.readable_ledger import ABSENT, in_turn, no_answer, readable_ledger, reply_with
from compat_tests.client.stage import SILENCE_MS, Stage
from compat_tests.judge.case import MUST, V3, case
from protocol_specs.wire.status import (
    EBADREQ,
    EBADVERSION,
    EIO,
    ENOENTRY,
    ENOLEDGER,
    ETOOMANYREQUESTS,
    EUA,
    EUNKNOWNLEDGERSTATE,
    Status,
)

PAYLOADS = (b"zero", b"one", b"two", b"three", b"four", b"five")


@case(
    "BKW-CREAD-001",
    MUST,
    "sec-read-entry-client",
    sends="A closed ledger of three entries; the client reads entry 1.",
    accepts="A plain read of entry 1 arrives, without flag or key, and its payload is what the client returns.",
    provenance="seen with Java's client 4.18.0",
)
def a_plain_read_is_asked_for_and_returned(stage: Stage) -> None:
    """A client MUST read an entry with a plain read that names ledger and entry, and return its payload unchanged."""
    ledger = readable_ledger(stage, PAYLOADS[:3])
    stage.check("the payload", ledger.open().read_entry(1), b"one")
    reads = ledger.requests(names.READ)
    stage.check("whether entry 1 was asked for", 1 in {each.entry_id for each in reads}, True)
    marks = [(each.fencing, each.recovery, each.high_priority, each.previous_lac) for each in reads]
    stage.check("fencing, recovery, priority and previous LAC", set(marks), {(False, False, False, None)})


@case(
    "BKW-CREAD-002",
    MUST,
    "sec-quorums",
    sends="Reads of entries 0 to 5 of a striped ledger (E 3, W 2), which none of their bookies has.",
    accepts="Each entry is asked for at the bookies at positions e mod 3 and (e + 1) mod 3, and at no other.",
    provenance="seen with Java's client 4.18.0",
)
def only_the_write_set_of_an_entry_is_asked(stage: Stage) -> None:
    """A client MUST look for entry e at the W bookies from position e mod E on, and at no other."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=3, write=2, ack=1)
    for bookie in ledger.bookies:
        bookie.on(names.READ, ledger_id=ledger.id).answer(ENOENTRY)
    reader = ledger.open()
    for entry_id in range(6):
        reader.fails_to_read(entry_id, *ABSENT)
        places = {
            at
            for at, each in enumerate(ledger.bookies)
            if each.requests(names.READ, ledger_id=ledger.id, entry_id=entry_id)
        }
        stage.check(f"positions asked for entry {entry_id}", places, {entry_id % 3, (entry_id + 1) % 3})


def _expect_next_replica_after(stage: Stage, *statuses: Status) -> None:
    ledger = readable_ledger(stage, PAYLOADS)
    reader = ledger.open()
    for entry_id, status in enumerate(statuses):
        order = in_turn(stage, ledger, names.READ, reply_with(status=status), entry_id=entry_id)
        stage.check(f"the payload after {status.name}", reader.read_entry(entry_id), PAYLOADS[entry_id])
        stage.check(f"whether another bookie was asked after {status.name}", len(set(order)) > 1, True)


@case(
    "BKW-CREAD-003",
    MUST,
    "sec-read-entry-client",
    sends="ENOENTRY, then ENOLEDGER, from whichever bookie is asked first; the others have the entry.",
    accepts="The client asks another bookie of the write set, and returns its entry.",
    provenance="seen with Java's client 4.18.0",
)
def absence_at_one_replica_means_the_next(stage: Stage) -> None:
    """A client MUST ask another replica when one says that it lacks the entry or the ledger."""
    _expect_next_replica_after(stage, ENOENTRY, ENOLEDGER)


@case(
    "BKW-CREAD-004",
    MUST,
    "sec-read-entry-client",
    sends="EIO, EBADREQ, EUA, EBADVERSION and ETOOMANYREQUESTS from whichever bookie is asked first, one read each.",
    accepts="The client asks another bookie of the write set, and returns its entry.",
    provenance="seen with Java's client 4.18.0",
)
def an_error_of_one_replica_means_the_next(stage: Stage) -> None:
    """A client MUST ask another replica when one answers with an error."""
    _expect_next_replica_after(stage, EIO, EBADREQ, EUA, EBADVERSION, ETOOMANYREQUESTS)


@case(
    "BKW-CREAD-005",
    MUST,
    "sec-status-unknown",
    dialects=(V3,),
    since="4.15",
    sends="507, EUNKNOWNLEDGERSTATE, from whichever bookie is asked first.",
    accepts="The client asks another bookie of the write set, and returns its entry.",
    provenance="BP-46, BK#2706",
)
def an_unknown_state_at_one_replica_means_the_next(stage: Stage) -> None:
    """A client MUST ask another replica when one cannot tell whether it ever had the entry."""
    _expect_next_replica_after(stage, EUNKNOWNLEDGERSTATE)


@case(
    "BKW-CREAD-006",
    MUST,
    "sec-connection-broken",
    sends="The bookie asked first closes the connection, and at another read resets it, instead of a reply.",
    accepts="The client asks another bookie of the write set, and returns its entry.",
    provenance="seen with Java's client 4.18.0",
)
def a_lost_connection_means_the_next_replica(stage: Stage) -> None:
    """A client MUST ask another replica when the connection is lost before the reply."""
    ledger = readable_ledger(stage, PAYLOADS)
    reader = ledger.open()
    for entry_id, act in enumerate((lambda ask: ask.close(), lambda ask: ask.reset())):
        order = in_turn(stage, ledger, names.READ, act, entry_id=entry_id)
        stage.check("the payload", reader.read_entry(entry_id), PAYLOADS[entry_id])
        stage.check("whether another bookie was asked", len(set(order)) > 1, True)


@case(
    "BKW-CREAD-007",
    MUST,
    "sec-read-entry-client",
    sends="One bookie of the ensemble does not listen; every entry is read.",
    accepts="All entries are returned.",
    provenance="seen with Java's client 4.18.0",
)
def a_bookie_that_is_down_does_not_keep_entries_from_being_read(stage: Stage) -> None:
    """A client MUST read every entry while one of its replicas is up."""
    ledger = readable_ledger(stage, PAYLOADS)
    ledger.bookies[0].stop()
    stage.check("the payloads", ledger.open().read(0, 5), PAYLOADS)


@case(
    "BKW-CREAD-008",
    MUST,
    "sec-read-entry-client",
    sends="The bookie asked first never answers.",
    accepts="After the client's time-out for reads another bookie is asked, and its entry returned.",
    provenance="seen with Java's client 4.18.0",
)
def a_silent_replica_means_the_next(stage: Stage) -> None:
    """A client MUST have a time-out for reads, and ask another replica when it is over."""
    ledger = readable_ledger(stage, PAYLOADS)
    order = in_turn(stage, ledger, names.READ, no_answer)
    reader = ledger.open(stage.impatient_client(SILENCE_MS))
    stage.check("the payload", reader.read_entry(0), b"zero")
    stage.check("whether another bookie was asked", len(set(order)) > 1, True)


@case(
    "BKW-CREAD-009",
    MUST,
    "sec-read-entry-client",
    sends="Every replica answers ENOENTRY.",
    accepts='All three are asked; the read fails with "no such entry".',
    provenance="seen with Java's client 4.18.0",
)
def what_every_replica_lacks_is_no_such_entry(stage: Stage) -> None:
    """A client MUST ask every replica before it says that there is no such entry, and then MUST say so."""
    ledger = readable_ledger(stage, PAYLOADS)
    for bookie in ledger.bookies:
        bookie.on(names.READ, ledger_id=ledger.id).answer(ENOENTRY)
    ledger.open().fails_to_read(2, *ABSENT)
    counts = [len(each.requests(names.READ, ledger_id=ledger.id, entry_id=2)) for each in ledger.bookies]
    stage.check("whether each bookie was asked", [count > 0 for count in counts], [True] * 3)


@case(
    "BKW-CREAD-010",
    MUST,
    "sec-status-when",
    sends="One replica answers EIO, the others ENOENTRY: the EIO first, second and last, one read each.",
    accepts='The read fails with another error than "no such entry" and "no such ledger".',
    provenance="BK#2908",
)
def an_error_weighs_more_than_absence(stage: Stage) -> None:
    """A client MUST NOT report an entry as absent while a replica that may have it has failed."""
    ledger = readable_ledger(stage, PAYLOADS)
    reader = ledger.open()
    for place in range(3):
        statuses = [EIO if at == place else ENOENTRY for at in range(3)]
        acts = [reply_with(status=status) for status in statuses]
        in_turn(stage, ledger, names.READ, *acts, entry_id=place)
        code = reader.fails_to_read(place)
        stage.check(f"whether the failure ({code}) says absence, with the EIO at {place}", code in ABSENT, False)


@case(
    "BKW-CREAD-015",
    MUST,
    "sec-quorums",
    sends="A closed ledger of two fragments on different bookies, each of which has its own entries only.",
    accepts="Every entry is asked for in its own fragment only, and returned.",
    provenance="seen with Java's client 4.18.0",
)
def each_entry_is_read_from_its_fragment(stage: Stage) -> None:
    """A client MUST look for an entry in the last fragment that starts at or before it, and in no other."""
    ledger = readable_ledger(stage, PAYLOADS, fragments={0: 3, 3: 3})
    stage.check("the payloads", ledger.open().read(0, 5), PAYLOADS)
    first, second = ledger.bookies[:3], ledger.bookies[3:]
    wrong = [
        each
        for bookie in first
        for each in bookie.requests(names.READ, ledger_id=ledger.id, entry_id=lambda wanted: wanted > 2)
    ]
    wrong += [
        each
        for bookie in second
        for each in bookie.requests(names.READ, ledger_id=ledger.id, entry_id=lambda wanted: wanted < 3)
    ]
    stage.check("reads at bookies of another fragment", len(wrong), 0)


@case(
    "BKW-CREAD-016",
    MUST,
    "sec-read-entry-client",
    sends="Each of six entries is lacking at two of its three bookies; a range read of all.",
    accepts="All entries, in order.",
    provenance="seen with Java's client 4.18.0",
)
def a_range_is_made_whole_from_several_replicas(stage: Stage) -> None:
    """A client MUST return a range whole and in order when each of its entries is to be had somewhere."""
    ledger = readable_ledger(stage, PAYLOADS)
    for at, bookie in enumerate(ledger.bookies):
        bookie.on(names.READ, ledger_id=ledger.id, entry_id=lambda wanted, at=at: wanted % 3 != at).answer(ENOENTRY)
    stage.check("the payloads", ledger.open().read(0, 5), PAYLOADS)

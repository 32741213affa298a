"""Recovery: fence, find the last entry, write back, close; nothing acknowledged may be lost, nothing added after."""

from compat_tests.client.client_requests import ClientRequest
from compat_tests.client.records import CLOSED, IN_RECOVERY, OPEN
from compat_tests.client.rules import Exchange
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, case
from protocol_specs import fields
from protocol_specs.entry.version import metadata_of
from protocol_specs.wire.status import EIO

UNAUTHORIZED = -102


def check_closed(stage: Stage, ledger_id: int, last_entry: int, length: int) -> None:
    """Want the ledger to be closed at exactly this end."""
    record = stage.metadata(ledger_id)
    stage.check(
        "state, last entry and length", (record.state, record.last_entry, record.length), (CLOSED, last_entry, length)
    )


def _fences(bookie: ScriptedBookie) -> list[ClientRequest]:
    return bookie.requests("read", entry_id=fields.LAST_ENTRY)


def _forward_reads(bookies: list[ScriptedBookie]) -> list[ClientRequest]:
    return [ask for bookie in bookies for ask in bookie.requests("read") if ask.entry_id >= 0]


@case(
    "BKW-CREC-001",
    MUST,
    "sec-recovery-steps",
    sends="An open ledger with five entries on three bookies, of which 0 to 3 are confirmed, is opened with recovery.",
    accepts="It is closed at entry 4, with the length of all five, and every entry can be read.",
    provenance="seen with Java's client 4.18.0",
)
def a_ledger_is_closed_at_its_last_entry(stage: Stage) -> None:
    """A client MUST close a ledger that it recovers at the last entry that can be acknowledged, with its length."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=5, ack=2)
    reader = stage.client.open(ledger.ledger_id)
    stage.check("the last add confirmed", reader.opened_at, 4)
    check_closed(stage, ledger.ledger_id, 4, ledger.length)
    stage.check("the entries", reader.read(0, 4).payloads, ledger.payloads)


@case(
    "BKW-CREC-002",
    MUST,
    "sec-recovery-steps",
    sends="The same; the state of the metadata is looked up at the first fencing read.",
    accepts="IN_RECOVERY, before any bookie is fenced.",
    provenance="seen with Java's client 4.18.0",
)
def in_recovery_comes_before_the_first_fence(stage: Stage) -> None:
    """A client MUST set the ledger IN_RECOVERY before it fences, so that its writer cannot change the ensemble."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=2, ack=2)
    states: list[str] = []

    def look(exchange: Exchange) -> None:
        states.append(stage.metadata(ledger.ledger_id).state)
        exchange.send(exchange.honest())

    for bookie in bookies:
        bookie.on("read", fencing=True).do(look)
    stage.client.open(ledger.ledger_id)
    stage.check("the state at the first fencing read", stage.first("fencing reads", states), IN_RECOVERY)
    stage.check_that(OPEN not in states, "the state at a fencing read", "never OPEN", states)


@case(
    "BKW-CREC-003",
    MUST,
    "sec-recovery-steps",
    sends="An open ledger of two fragments is recovered.",
    accepts="A fencing read of entry -1 with the master key at every bookie of the last fragment.",
    provenance="seen with Java's client 4.18.0",
)
def every_bookie_of_the_last_fragment_is_fenced(stage: Stage) -> None:
    """A client MUST fence every bookie of the last fragment with a read of entry -1 that carries the master key."""
    old, *last = stage.bookies(4)
    ledger = stage.ledger(fragments={0: [old, *last[1:]], 2: last}, entries=4, ack=2, password=b"secret")
    stage.client.open(ledger.ledger_id, password=b"secret")
    for bookie in last:
        bookie.wait_for("read", entry_id=fields.LAST_ENTRY)
        (first, *_) = _fences(bookie)
        stage.check(f"fencing and key at {bookie.name}", (first.fencing, first.key), (True, ledger.key))
        stage.check(f"{bookie.name} is fenced", bookie.fenced(ledger.ledger_id), True)


@case(
    "BKW-CREC-004",
    MUST,
    "sec-recovery-rules",
    sends="A recovery that has to read three entries behind the last add confirmed.",
    accepts="Each of these reads fences as well, with the master key.",
    provenance="BK#2614",
)
def every_read_of_a_recovery_fences(stage: Stage) -> None:
    """A client MUST fence with every read of a recovery: who says "no such entry" must not get it later."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=5, ack=2, lag=4)
    stage.client.open(ledger.ledger_id)
    reads = [ask for ask in _forward_reads(bookies) if ask.entry_id >= 1]
    stage.check_that(bool(reads), "reads behind the last add confirmed", "at least one", reads)
    unfenced = [str(ask) for ask in reads if not ask.fencing or ask.key != ledger.key]
    stage.check("reads without fence or key", unfenced, [])


@case(
    "BKW-CREC-005",
    MUST,
    "sec-recovery-rules",
    sends="An entry is on the second of three bookies, which is slow; the third does not see the first fence. A = 2.",
    accepts="When the ledger is closed without the entry, the writer's add cannot make an ack quorum of it any more.",
    provenance="BK#2614",
)
def what_a_recovery_takes_for_absent_stays_absent(stage: Stage) -> None:
    """A client MUST NOT decide that an entry is absent where its writer could still bring it to A bookies."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=3, ack=2)
    ledger.forget(2, bookies[0], bookies[2])
    slow = bookies[1].on("read", entry_id=2).hold()
    bookies[2].on("read", entry_id=fields.LAST_ENTRY).silence()
    pending = stage.client.begin_open(ledger.ledger_id)
    stage.wait_until(
        lambda: pending.done or bool(slow.requests), "the slow bookie is asked for entry 2, or the ledger closed"
    )
    stage.wait(0.2)
    slow.release()
    pending.result()
    if stage.metadata(ledger.ledger_id).last_entry == 1:
        takers = [each for each in bookies if not each.fenced(ledger.ledger_id) or 2 in each.entries(ledger.ledger_id)]
        names = [each.name for each in takers]
        stage.check_that(len(names) < 2, "bookies that have entry 2 or would take it", "fewer than A = 2", names)


@case(
    "BKW-CREC-006",
    MUST,
    "sec-recovery-rules",
    sends="A ledger of two fragments; the bookies of the last one have nothing of it.",
    accepts="It is closed at the last entry of the first fragment, with its length; nothing below is written again.",
    provenance="BK#2615",
)
def a_recovery_starts_no_lower_than_the_last_fragment(stage: Stage) -> None:
    """A client MUST take all entries before the last fragment as acknowledged, whatever its bookies know."""
    old, new = stage.bookies(3), stage.bookies(3)
    ledger = stage.ledger(fragments={0: old, 3: new}, entries=3, ack=2)
    reader = stage.client.open(ledger.ledger_id)
    check_closed(stage, ledger.ledger_id, 2, ledger.length)
    stage.check("adds", [str(add) for bookie in (*old, *new) for add in bookie.requests("add")], [])
    starts = sorted(stage.metadata(ledger.ledger_id).fragments)
    stage.check_one_of("where fragments start", starts, ([0, 3], [0]))
    stage.check("the entries", reader.read(0, 2).payloads, ledger.payloads)


@case(
    "BKW-CREC-007",
    MUST,
    "sec-recovery-steps",
    sends="The last entry is on one bookie of three only; one says ENOENTRY, one EIO, with A = 2.",
    accepts="The ledger is closed with it; the others get the same payload and length, by recovery adds with the key.",
    provenance="seen with Java's client 4.18.0",
)
def a_single_copy_is_kept_and_written_back(stage: Stage) -> None:
    """A client MUST keep an entry that may have been acknowledged, and write it to its write set by recovery adds."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=3, ack=2)
    ledger.forget(2, bookies[0], bookies[1])
    bookies[1].on("read", entry_id=2).answer(EIO)
    stage.client.open(ledger.ledger_id)
    check_closed(stage, ledger.ledger_id, 2, ledger.length)
    for bookie in bookies[:2]:
        (add, *_) = bookie.wait_for("add", entry_id=2)
        stage.check(f"recovery add and key at {bookie.name}", (add.recovery, add.key), (True, ledger.key))
        length = metadata_of(add.body)[3]
        stage.check("the payload", ledger.seal.payload_of(add.body), ledger.payloads[2])
        stage.check("the length in it", length, ledger.length)
        stage.check("whether the digest is right", ledger.seal.right(add.body), True)


@case(
    "BKW-CREC-014",
    MUST,
    "sec-recovery-steps",
    sends="An open ledger that has no entries, which no bookie or each bookie knows.",
    accepts="It is closed at -1, with length 0.",
    provenance="seen with Java's client 4.18.0",
)
def an_empty_ledger_is_closed_empty(stage: Stage) -> None:
    """A client MUST be able to close a ledger without entries, whether its bookies know it or not."""
    bookies = stage.bookies(3)
    for known in (False, True):
        ledger = stage.ledger(bookies, ack=2)
        if known:
            for bookie in bookies:
                ledger.ledger_on(bookie)
        reader = stage.client.open(ledger.ledger_id)
        stage.check("the last add confirmed", reader.opened_at, fields.NO_ENTRY)
        check_closed(stage, ledger.ledger_id, fields.NO_ENTRY, 0)


@case(
    "BKW-CREC-016",
    MUST,
    "sec-recovery-steps",
    sends="A ledger that somebody left in recovery is opened with recovery.",
    accepts="It is closed at its last entry.",
    provenance="seen with Java's client 4.18.0",
)
def a_recovery_that_was_left_is_finished(stage: Stage) -> None:
    """A client MUST be able to recover a ledger whose recovery another has begun."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=3, ack=2, state=IN_RECOVERY)
    for bookie in bookies:
        ledger.ledger_on(bookie).fenced = True
    ledger.forget(2, bookies[0])
    stage.client.open(ledger.ledger_id)
    check_closed(stage, ledger.ledger_id, 2, ledger.length)

    def there() -> bool:
        return bookies[0].entries(ledger.ledger_id).get(2) == ledger.entries[2]

    # Two bookies that had it may have been enough for the client.
    stage.wait_until(there, "entry 2 on the bookie that lacked it", 3.0)


@case(
    "BKW-CREC-018",
    MUST,
    "sec-recovery-steps",
    sends="A closed ledger is opened with recovery, and an open one without.",
    accepts="Neither fences a bookie, adds to one or changes the metadata.",
    provenance="seen with Java's client 4.18.0",
)
def opening_without_need_changes_nothing(stage: Stage) -> None:
    """A client MUST NOT fence a closed ledger, nor one that it opens without recovery."""
    bookies = stage.bookies(3)
    for state, recovery in ((CLOSED, True), (OPEN, False)):
        ledger = stage.ledger(bookies, entries=3, ack=2, state=state)
        reader = stage.client.open(ledger.ledger_id, recovery=recovery)
        stage.check("entry 0", reader.read(0, 0).payloads, ledger.payloads[:1])
        stage.check("changes of the metadata", stage.root.version(ledger.ledger_id), 0)
        changing = [
            str(ask)
            for bookie in bookies
            for ask in bookie.requests(ledger_id=ledger.ledger_id)
            if ask.fencing or ask.operation == "add"
        ]
        stage.check("fences and adds", changing, [])


@case(
    "BKW-CREC-019",
    MUST,
    "sec-master-key",
    sends="An open ledger is opened with recovery and a wrong password.",
    accepts="Error -102; no bookie is fenced, and the metadata stay as they are.",
    provenance="seen with Java's client 4.18.0",
)
def a_wrong_password_recovers_nothing(stage: Stage) -> None:
    """A client MUST refuse a wrong password before it changes anything."""
    bookies = stage.bookies(3)
    ledger = stage.ledger(bookies, entries=2, ack=2, password=b"right")
    stage.expect_error(stage.client.begin_open(ledger.ledger_id, password=b"wrong"), UNAUTHORIZED)
    stage.check("the state", stage.metadata(ledger.ledger_id).state, OPEN)
    stage.check("fenced bookies", [each.name for each in bookies if each.fenced(ledger.ledger_id)], [])

"""V3 exchanges about the last add confirmed, with a Java bookie and with ours."""

from compat_tests.wire.entries import OTHER_KEY, entry, explicit_lac
from compat_tests.wire.v3_requests import add, fence, poll, read, read_lac, request, write_lac
from protocol_specs import fields
from protocol_specs.wire.operations import V3Operation
from tests.integration.java.talk import CLOSED, Differs, Table, Talk

TABLE = Table()

LONG_MS = 60_000
SHORT_MS = 200
POLL = 70
"""Transaction id of a request that is answered late."""


def _filled(talk: Talk, count: int) -> None:
    """Entries from 0 on, each of which confirms the one before it."""
    for entry_id in range(count):
        talk.ask(f"add {entry_id}", add(talk.ledger, entry_id), on="writer")


@TABLE.exchange()
def polls_answered_at_once(talk: Talk) -> None:
    talk.ask("unknown ledger", poll(talk.ledger + 1, 0, LONG_MS))
    _filled(talk, 4)
    talk.ask("confirmed already", poll(talk.ledger, 1, LONG_MS))
    talk.ask("nothing confirmed before", poll(talk.ledger, fields.NO_ENTRY, LONG_MS))
    talk.ask("without a timeout", poll(talk.ledger, 2))
    talk.ask("without a timeout, confirmed", poll(talk.ledger, 0))
    talk.ask("timeout of 0", poll(talk.ledger, 2, 0))
    talk.ask("negative timeout", poll(talk.ledger, 2, -1))
    talk.ask("far ahead", poll(talk.ledger, 10**6, 0))
    talk.ask("no piggyback, confirmed", poll(talk.ledger, 1, LONG_MS, entry_id=3, flag=None))
    talk.ask("no piggyback, last entry", poll(talk.ledger, 1, LONG_MS, flag=None))
    talk.ask("no piggyback, missing entry", poll(talk.ledger, 1, LONG_MS, entry_id=9, flag=None))
    talk.ask("piggyback on an entry", poll(talk.ledger, 1, LONG_MS, entry_id=3))
    talk.ask("high priority", poll(talk.ledger, 1, LONG_MS, priority=100))
    for version in (1, 2):
        talk.ask(f"version {version}", poll(talk.ledger, 1, LONG_MS, version=version))


@TABLE.exchange()
def polls_that_expire(talk: Talk) -> None:
    _filled(talk, 4)
    talk.ask("piggyback", poll(talk.ledger, 2, SHORT_MS))
    talk.ask("far ahead", poll(talk.ledger, 10**6, SHORT_MS))
    talk.ask("no piggyback", poll(talk.ledger, 2, SHORT_MS, entry_id=0, flag=None))
    talk.ask("no piggyback, last entry", poll(talk.ledger, 2, SHORT_MS, flag=None))
    talk.ask("no piggyback, missing entry", poll(talk.ledger, 2, SHORT_MS, entry_id=9, flag=None))


@TABLE.exchange()
def polls_of_a_ledger_without_entries(talk: Talk) -> None:
    talk.ask("fence", fence(talk.ledger))
    talk.ask("poll", poll(talk.ledger, fields.NO_ENTRY, SHORT_MS))
    talk.ask("without a timeout", poll(talk.ledger, fields.NO_ENTRY))


@TABLE.exchange()
def poll_whose_entry_is_not_here(talk: Talk) -> None:
    """As in a striped ledger: the next entry is on other bookies."""
    for entry_id in (0, 3, 4):
        talk.ask(f"add {entry_id}", add(talk.ledger, entry_id))
    talk.ask("poll", poll(talk.ledger, 0, LONG_MS))
    talk.ask("poll for one that is", poll(talk.ledger, 2, LONG_MS))


@TABLE.exchange()
def poll_woken_by_an_add(talk: Talk) -> None:
    _filled(talk, 2)
    waiting = poll(talk.ledger, 0, LONG_MS, txn_id=POLL)
    talk.send(waiting)
    talk.ask("read meanwhile", read(talk.ledger, 0))
    talk.no_answer_yet("still waiting", waiting)
    talk.ask("add", add(talk.ledger, 2), on="writer")
    talk.answer("woken", waiting)


@TABLE.exchange()
def poll_without_piggyback_woken_by_an_add(talk: Talk) -> None:
    _filled(talk, 2)
    waiting = poll(talk.ledger, 0, LONG_MS, entry_id=1, flag=None, txn_id=POLL)
    talk.send(waiting)
    talk.no_answer_yet("still waiting", waiting)
    talk.ask("add", add(talk.ledger, 2), on="writer")
    talk.answer("woken", waiting)


@TABLE.exchange()
def poll_not_woken_by_what_confirms_nothing(talk: Talk) -> None:
    _filled(talk, 2)
    waiting = poll(talk.ledger, 0, 15 * SHORT_MS, txn_id=POLL)
    talk.send(waiting)
    talk.ask("add", add(talk.ledger, 2, body=entry(talk.ledger, 2, 0)), on="writer")
    talk.no_answer_yet("still waiting", waiting)
    talk.answer("expired", waiting)


@TABLE.exchange()
def poll_not_woken_by_a_write_lac_that_confirms_nothing(talk: Talk) -> None:
    _filled(talk, 2)
    waiting = poll(talk.ledger, 5, 15 * SHORT_MS, txn_id=POLL)
    talk.send(waiting)
    talk.ask("write", write_lac(talk.ledger, 1), on="writer")
    talk.no_answer_yet("still waiting", waiting)
    talk.answer("expired", waiting)


@TABLE.exchange()
def poll_woken_by_an_explicit_last_add_confirmed(talk: Talk) -> None:
    _filled(talk, 2)
    waiting = poll(talk.ledger, 0, LONG_MS, txn_id=POLL)
    talk.send(waiting)
    talk.no_answer_yet("still waiting", waiting)
    talk.ask("write", write_lac(talk.ledger, 1), on="writer")
    talk.answer("woken", waiting)


@TABLE.exchange()
def poll_woken_by_fencing(talk: Talk) -> None:
    _filled(talk, 2)
    waiting = poll(talk.ledger, 0, LONG_MS, txn_id=POLL)
    talk.send(waiting)
    talk.no_answer_yet("still waiting", waiting)
    talk.ask("fence", fence(talk.ledger), on="writer")
    talk.answer("woken", waiting)


@TABLE.exchange()
def polls_of_one_connection(talk: Talk) -> None:
    _filled(talk, 2)
    waiting = [poll(talk.ledger, 0, LONG_MS, txn_id=POLL + index) for index in range(5)]
    for frame in waiting:
        talk.send(frame)
    talk.ask("add", add(talk.ledger, 2), on="writer")
    for index, frame in enumerate(waiting):
        talk.answer(f"woken {index}", frame)


LAC_AND_ENTRY = "EOK lac_body last_entry_body"


@TABLE.exchange(
    differs={
        "lower is kept": [Differs("lower", LAC_AND_ENTRY, LAC_AND_ENTRY)],
        "without a digest": [Differs("S5", "EBADREQ", "EOK")],
    }
)
def explicit_last_add_confirmed(talk: Talk) -> None:
    talk.ask("unknown ledger", read_lac(talk.ledger))
    _filled(talk, 3)
    talk.ask("entries only", read_lac(talk.ledger))
    talk.ask("write", write_lac(talk.ledger, 2))
    talk.ask("both", read_lac(talk.ledger))
    talk.ask("a read tells it", read(talk.ledger, 0))
    talk.ask("lower", write_lac(talk.ledger, 0))
    talk.ask("lower is kept", read_lac(talk.ledger))
    talk.ask("other password", write_lac(talk.ledger, 2, key=OTHER_KEY))
    talk.ask("without a digest", write_lac(talk.ledger, 2, body=explicit_lac(talk.ledger, 2, b"")))
    talk.ask("high priority", write_lac(talk.ledger, 2, priority=100))
    for version in (1, 2):
        talk.ask(f"version {version} of a write", write_lac(talk.ledger, 1, version=version))
        talk.ask(f"version {version} of a read", read_lac(talk.ledger, version=version))
    talk.ask("fence", fence(talk.ledger))
    talk.ask("write when fenced", write_lac(talk.ledger, 2))
    talk.ask("read when fenced", read_lac(talk.ledger))


EXPLICIT_ONLY = Differs("S8", "ENOENTRY lac_body", "EIO lac_body", (4, 14), (4, 14))


@TABLE.exchange(differs={"of the body": [EXPLICIT_ONLY]})
def write_lac_of_another_ledger_than_it_says(talk: Talk) -> None:
    _filled(talk, 1)
    talk.ask("write", write_lac(talk.ledger, 0, body=explicit_lac(talk.ledger + 1, 0)))
    talk.ask("of the request", read_lac(talk.ledger))
    talk.ask("of the body", read_lac(talk.ledger + 1))
    talk.ask("which is known now", read(talk.ledger + 1, 0))


@TABLE.exchange(differs={"explicit only": [EXPLICIT_ONLY]})
def explicit_last_add_confirmed_of_no_entry(talk: Talk) -> None:
    talk.ask("write", write_lac(talk.ledger, 5))
    talk.ask("explicit only", read_lac(talk.ledger))


@TABLE.exchange()
def write_lac_too_short(talk: Talk) -> None:
    _filled(talk, 1)
    for size in (0, 8, 15):
        talk.ask(f"{size} bytes", write_lac(talk.ledger, 0, body=explicit_lac(talk.ledger, 0)[:size]))


@TABLE.exchange(
    differs={
        "longer is kept": [Differs("S5", LAC_AND_ENTRY, LAC_AND_ENTRY)],
        "shorter": [Differs("S5", "EBADREQ", "EOK")],
        "shorter is kept": [Differs("S5", LAC_AND_ENTRY, LAC_AND_ENTRY)],
    }
)
def write_lac_of_another_size(talk: Talk) -> None:
    """Java keeps the first size for ever: a longer value is cut, a shorter one refused."""
    _filled(talk, 1)
    talk.ask("first", write_lac(talk.ledger, 0))
    talk.ask("longer", write_lac(talk.ledger, 0, body=explicit_lac(talk.ledger, 0, bytes(range(20)))))
    talk.ask("longer is kept", read_lac(talk.ledger))
    talk.ask("shorter", write_lac(talk.ledger, 0, body=explicit_lac(talk.ledger, 0, b"\7")))
    talk.ask("shorter is kept", read_lac(talk.ledger))


@TABLE.exchange(differs={"no part": [Differs("S10", CLOSED, "ENOENTRY", since=(4, 18))]})
def read_lac_without_its_part(talk: Talk) -> None:
    talk.ask("no part", request(V3Operation.READ_LAC))


@TABLE.exchange(differs={"no part": [Differs("S10", CLOSED, "EBADREQ", since=(4, 18))]})
def write_lac_without_its_part(talk: Talk) -> None:
    talk.ask("no part", request(V3Operation.WRITE_LAC))

"""For a row of the tables of answers: bring about its state, check its reply, and check its effects."""

from collections.abc import Callable

from compat_tests.bookie import state_requests as state_requests
from compat_tests.bookie.batches import check_prefix
from compat_tests.bookie.entry_lists import parse
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import Dialect
from compat_tests.wire import v3_requests
from compat_tests.wire.entries import KEY, entry, explicit_lac
from compat_tests.wire.line import Line
from compat_tests.wire.replies import Reply
from protocol_specs import fields
from protocol_specs.wire.answers.row import Bookie, Effect, Entry, Ledger, Operation, Row
from protocol_specs.wire.status import EFENCED, ENOENTRY, ENOLEDGER, EOK, EUA

_WITH_ENTRIES = (Ledger.KNOWN, Ledger.FENCED, Ledger.KNOWN_WITH_LAC)


def stored_entry(ledger_id: int, entry_id: int) -> bytes:
    """An entry of a ledger that has some."""
    return entry(ledger_id, entry_id, entry_id - 1, b"entry %d" % entry_id)


def bring_about(row: Row, talk: Talk, ledger_id: int) -> None:
    """Bring the ledger into the state of the row."""
    if row.bookie is Bookie.GUARDED or row.request.operation in (Operation.INFO, Operation.START_TLS):
        return
    if row.ledger in _WITH_ENTRIES:
        for entry_id in state_requests.STORED_IDS:
            body = stored_entry(ledger_id, entry_id)
            talk.expect(talk.requests.add(ledger_id, entry_id, body=body, high_priority=True), EOK)
    if row.ledger is Ledger.FENCED:
        talk.expect(talk.requests.fence(ledger_id), EOK)
    if row.ledger is Ledger.FENCED_EMPTY:
        talk.expect(talk.requests.fence(ledger_id), ENOENTRY)
    if row.ledger in (Ledger.EXPLICIT_LAC, Ledger.KNOWN_WITH_LAC):
        talk.expect(v3_requests.write_lac(ledger_id, 0, txn_id=talk.requests.number()), EOK)


def check_status(row: Row, talk: Talk, reply: Reply) -> Reply:
    """Require the status of the row.  ENOENTRY for entry -2, as from some of Java's storages, is tolerated."""
    if row.request.entry is Entry.BELOW and reply.status is ENOENTRY:
        talk.tolerate("ENOENTRY for an entry id that no entry can have")
        return talk.check_reply(reply, ENOENTRY)
    assert row.answer.status is not None
    return talk.check_reply(reply, row.answer.status)


def check_content(row: Row, talk: Talk, reply: Reply, ledger_id: int) -> None:
    """Require the content that the status of the row promises, and no entries with an error."""
    if row.answer.status is not EOK:
        talk.check("body", reply.body, b"")
        talk.check("entries", list(reply.entries), [])
        if row.bookie is Bookie.GUARDED and talk.dialect is Dialect.V3 and row.answer.status is EUA:
            talk.check("part", reply.part, None)
    look = _CONTENTS.get(row.request.operation)
    if look is not None:
        look(row, talk, reply, ledger_id)


def _read(row: Row, talk: Talk, reply: Reply, ledger_id: int) -> None:
    if row.answer.status is EOK:
        entry_id = (
            max(state_requests.STORED_IDS)
            if row.request.entry is Entry.LAST
            else state_requests.entry_id_of(row.request)
        )
        talk.check("entry", reply.body, stored_entry(ledger_id, entry_id))


def _batch_read(row: Row, talk: Talk, reply: Reply, ledger_id: int) -> None:
    if row.answer.status is EOK:
        ids = (max(state_requests.STORED_IDS),) if row.request.entry is Entry.LAST else (0, 1)
        check_prefix(talk, reply, [stored_entry(ledger_id, entry_id) for entry_id in ids])


def _poll(row: Row, talk: Talk, reply: Reply, ledger_id: int) -> None:
    if row.answer.status is EOK:
        found = row.request.entry is Entry.STORED
        talk.check("entry_id", reply.part.entry_id, 1 if found else fields.NO_ENTRY)
        talk.check("entry", reply.body, stored_entry(ledger_id, 1) if found else b"")
        talk.check("max_lac", reply.part.max_lac, state_requests.LAST_ADD_CONFIRMED)


def _read_lac(row: Row, talk: Talk, reply: Reply, ledger_id: int) -> None:
    if row.bookie is Bookie.GUARDED:
        return
    good = row.answer.status is EOK
    explicit = row.ledger in (Ledger.EXPLICIT_LAC, Ledger.KNOWN_WITH_LAC)
    last = stored_entry(ledger_id, max(state_requests.STORED_IDS)) if good else b""
    talk.check("lac_body", getattr(reply.part, "lac_body", b""), explicit_lac(ledger_id, 0) if explicit else b"")
    talk.check("last_entry_body", getattr(reply.part, "last_entry_body", b""), last)


def _list(row: Row, talk: Talk, reply: Reply, ledger_id: int) -> None:
    if row.answer.status is not EOK:
        return
    ids = parse(talk, reply).ids()
    talk.check("listed entries", sorted(ids), list(state_requests.STORED_IDS) if row.ledger in _WITH_ENTRIES else [])


def _info(row: Row, talk: Talk, reply: Reply, ledger_id: int) -> None:
    if row.answer.status is EOK:
        part = reply.part
        sensible = 0 < part.free_disk_space <= part.total_disk_capacity
        seen = f"{part.total_disk_capacity} bytes, {part.free_disk_space} of them free"
        talk.check_that(sensible, "disk space", "some, and not more free than there is", seen)


_CONTENTS: dict[Operation, Callable[[Row, Talk, Reply, int], None]] = {
    Operation.READ: _read,
    Operation.BATCH_READ: _batch_read,
    Operation.LONG_POLL: _poll,
    Operation.READ_LAC: _read_lac,
    Operation.LIST: _list,
    Operation.INFO: _info,
}


def check_effects(row: Row, talk: Talk, on: Line, ledger_id: int) -> None:
    """Check the effects of the row; a client that has not authenticated cannot see any."""
    if row.bookie is not Bookie.GUARDED:
        for effect in row.answer.effects:
            _EFFECTS[effect](row, talk, on, ledger_id)


def _is_stored(row: Row, talk: Talk, on: Line, ledger_id: int) -> None:
    read = talk.requests.read(ledger_id, state_requests.entry_id_of(row.request))
    talk.expect(read, EOK, on, body=state_requests.body_of(row.request, ledger_id))


def _is_not_stored(row: Row, talk: Talk, on: Line, ledger_id: int) -> None:
    if row.ledger is Ledger.UNKNOWN:
        _is_unknown(row, talk, on, ledger_id)
        return
    entry_id = state_requests.entry_id_of(row.request)
    if entry_id >= 0:
        talk.expect(talk.requests.read(ledger_id, entry_id), ENOENTRY, on)
    if row.ledger in _WITH_ENTRIES:
        last = max(state_requests.STORED_IDS)
        talk.expect(talk.requests.read(ledger_id, fields.LAST_ENTRY), EOK, on, body=stored_entry(ledger_id, last))


def _first_stays(row: Row, talk: Talk, on: Line, ledger_id: int) -> None:
    talk.expect(talk.requests.read(ledger_id, 0), EOK, on, body=stored_entry(ledger_id, 0))


def _is_known(row: Row, talk: Talk, on: Line, ledger_id: int) -> None:
    talk.expect(talk.requests.read(ledger_id, state_requests.ABSENT), ENOENTRY, on)


def _is_unknown(row: Row, talk: Talk, on: Line, ledger_id: int) -> None:
    talk.expect(talk.requests.read(ledger_id, state_requests.ABSENT), ENOLEDGER, on)


def _is_fenced(row: Row, talk: Talk, on: Line, ledger_id: int) -> None:
    talk.expect(talk.requests.add(ledger_id, state_requests.ABSENT, high_priority=True), EFENCED, on)
    talk.expect(talk.requests.add(ledger_id, state_requests.ABSENT, recovery=True, high_priority=True), EOK, on)


def _is_not_fenced(row: Row, talk: Talk, on: Line, ledger_id: int) -> None:
    talk.expect(talk.requests.add(ledger_id, state_requests.ABSENT, key=KEY, high_priority=True), EOK, on)


def _lac_is(body: bytes, talk: Talk, on: Line, ledger_id: int) -> None:
    reply = talk.ask(v3_requests.read_lac(ledger_id, txn_id=talk.requests.number()), on)
    talk.check("lac_body", getattr(reply.part, "lac_body", b""), body)


_EFFECTS: dict[Effect, Callable[[Row, Talk, Line, int], None]] = {
    Effect.STORED: _is_stored,
    Effect.NOT_STORED: _is_not_stored,
    Effect.FIRST_STAYS: _first_stays,
    Effect.MADE: _is_known,
    Effect.NOT_MADE: _is_unknown,
    Effect.FENCED: _is_fenced,
    Effect.NOT_FENCED: _is_not_fenced,
    Effect.LAC_KEPT: lambda row, talk, on, ledger_id: _lac_is(
        state_requests.lac_body_of(row.request, ledger_id), talk, on, ledger_id
    ),
    Effect.LAC_AS_BEFORE: lambda row, talk, on, ledger_id: _lac_is(b"", talk, on, ledger_id),
}

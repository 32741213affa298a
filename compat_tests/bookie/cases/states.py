"""The cases of the tables of answers: one for each row that can be brought about over the wire."""

import re

from compat_tests.bookie.state_checks import bring_about, check_content, check_effects, check_status
from compat_tests.bookie.state_ids import NUMBERS
from compat_tests.bookie.state_requests import frame_of
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, SHOULD, Case, Dialect, Role, enter
from protocol_specs.wire.answers.row import V2, Body, Bookie, Entry, Operation, Row
from protocol_specs.wire.answers.tables import ROWS

SITES = {
    Bookie.SERVING: "plain",
    Bookie.READ_ONLY: "read-only",
    Bookie.GUARDED: "auth",
    Bookie.TLS: "tls",
}

UNREACHABLE = {
    Bookie.JOURNAL_FAILS: "A disk must fail for it, which no client can bring about.",
    Bookie.STORAGE_FAILS: "A disk must fail for it, which no client can bring about.",
    Bookie.BUSY: "How much is too much is every bookie's own limit; those of ours have unit tests.",
}
"""Why rows in these states have no case."""

_NEEDS = {
    Operation.BATCH_READ: ("batch-read-{dialect}",),
    Operation.LONG_POLL: ("long-poll",),
    Operation.WRITE_LAC: ("explicit-lac",),
    Operation.READ_LAC: ("explicit-lac",),
    Operation.FORCE: ("force",),
    Operation.LIST: ("list-entries",),
    Operation.INFO: ("bookie-info",),
}

_SINCE = {Operation.BATCH_READ: "4.17", Operation.LIST: "4.10"}
"""The releases that brought an operation; the others were always there."""

_SEEN = {
    Operation.BATCH_READ: "BP-62, seen of Java 4.17.3 and 4.18.0",
    Operation.LIST: "seen of Java 4.14.7 to 4.18.0",
}
_SEEN_OF_ALL = "seen of Java 4.9.2 to 4.18.0"
"""The source of the answers, by the operation; some releases have divergences on record."""

_IN_BOTH = (Operation.ADD, Operation.READ, Operation.BATCH_READ)
"""Operations of both protocol versions."""

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def case_id(row: Row) -> str:
    """The id of the row's case."""
    return f"BKW-STATE-{NUMBERS[row.key]:03}"


def request_text(row: Row) -> str:
    """The request of a row in words."""
    request = row.request
    names_an_entry = request.operation in (Operation.ADD, Operation.READ, Operation.BATCH_READ, Operation.LONG_POLL)
    wants_key = request.operation in (Operation.ADD, Operation.WRITE_LAC) or request.fencing
    words = [
        "fencing" * request.fencing,
        "recovery" * request.recovery,
        request.operation.value,
        request.entry.value * names_an_entry,
        request.body.value,
        request.version.value,
        "with a negative ledger id" * request.negative_ledger,
        request.key.value * wants_key,
        "with high priority" * request.high_priority,
    ]
    return " ".join(filter(None, words))


def answer_text(row: Row) -> str:
    """The answer of a row in words."""
    status = row.answer.status.name if row.answer.status else "The connection is closed"
    tolerated = ["ENOENTRY is a pass that is not strict"] * (row.request.entry is Entry.BELOW)
    return "; ".join([status, *(effect.value for effect in row.answer.effects), *tolerated])


def _request_word(row: Row) -> str:
    """The word for the request; with its protocol version, if the other version answers such requests differently."""
    differs = row.request.operation in _IN_BOTH and len(row.dialects) == 1
    return f"a {row.dialects[0]} request" if differs else "a request"


def _provenance(row: Row) -> str:
    """The source of the answer."""
    request = row.request
    if row.answer.ours:
        return "a rule of this reference"
    if request.negative_ledger or request.entry is Entry.NEGATIVE:
        return "S4"
    if request.operation is Operation.WRITE_LAC and request.body is Body.BYTES_15:
        return "the source of Java 4.9 to 4.18 for the status; that nothing is kept is a rule of this reference"
    if request.operation is Operation.BATCH_READ and V2 not in row.dialects:
        return "BP-62"
    return _SEEN.get(request.operation, _SEEN_OF_ALL)


def _case(row: Row) -> Case:
    def script(talk: Talk) -> None:
        _try(row, talk)

    kind = f"{row.bookie.value}, {row.ledger.value}"
    must = "SHOULD" if row.answer.ours else "MUST"
    verb = f"answer with {row.answer.status.name}" if row.answer.status else "close the connection on"
    request = f"{_request_word(row)} like this ({request_text(row)})"
    effects = "".join(f", and {effect.value}" for effect in row.answer.effects)
    state = _LINK.sub(r"\1", row.line.text)
    return Case(
        id=case_id(row),
        role=Role.BOOKIE,
        level=SHOULD if row.answer.ours else MUST,
        section=row.table.section,
        title=row.key.replace("/", " ").replace("-", " "),
        requirement=f"A bookie {must} {verb} {request} in this state: {state}{effects}.",
        sends=f"A request: {request_text(row)}. To {kind}.",
        accepts=f"{answer_text(row)}.",
        script=script,
        dialects=tuple(Dialect(dialect) for dialect in row.dialects),
        since=_SINCE.get(row.request.operation),
        provenance=_provenance(row),
        needs=_NEEDS.get(row.request.operation, ()),
        site=SITES[row.bookie],
        module=__name__,
    )


def _try(row: Row, talk: Talk) -> None:
    ledger_id, on = talk.new_ledger(), talk.main
    bring_about(row, talk, ledger_id)
    frame = frame_of(row.request, ledger_id, talk.requests)
    if row.answer.status is None:
        talk.expect_closed(on, frame)
        on = talk.line("afterwards")
    else:
        reply = check_status(row, talk, talk.ask(frame))
        check_content(row, talk, reply, ledger_id)
    if row.answer.status is not None and row.request.operation is not Operation.START_TLS:
        _expect_open(row, talk)
    check_effects(row, talk, on, ledger_id)


def _expect_open(row: Row, talk: Talk) -> None:
    """Require that the connection is still served, or still refused."""
    if row.bookie is Bookie.GUARDED:
        talk.ask(talk.requests.read(talk.new_ledger(), 0))
    else:
        talk.expect_open()


for _row in ROWS.values():
    if _row.bookie in SITES:
        enter(_case(_row))

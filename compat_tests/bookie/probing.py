"""Find out which features a bookie has, each on a new connection: a feature that it lacks may close that."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from compat_tests.judge.case import Dialect
from compat_tests.judge.recording import Recording
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import Site
from compat_tests.wire import v3_requests
from compat_tests.wire.line import Line, Outcome
from compat_tests.wire.replies import ConnectionClosed, Reply, txn_id_of
from compat_tests.wire.requests import Requests
from protocol_specs.wire.status import EBADREQ, EBADVERSION, Status

_LIMIT_S = 12.0
_REPLY_TIMEOUT_S = 6.0
_SCOPE = 1

#: Statuses from a bookie that knows the number of an operation but does not serve it.
_NOT_SERVED = (EBADREQ, EBADVERSION)

_Answer: TypeAlias = Outcome | None
"""None: the reply could not be parsed, or no connection was made."""


def probe(site: Site, ledger_id: int, stop: threading.Event) -> Mapping[str, str]:
    """Ask for each feature.  ``ledger_id`` is one that the bookie does not have.

    The bookie lacks a feature if it refuses the request or closes the connection. A wrong reply, or none, counts as
    "yes", and the cases judge it: otherwise a bookie that is broken enough would fail no case. If it replies in neither
    protocol version, both count as "yes": the first case then says what is wrong.
    """
    v2, v3 = Requests(Dialect.V2), Requests(Dialect.V3)

    def ask(frame: bytes) -> str:
        return _found(_answer(site, frame, stop), frame)

    reads = {"v2": v2.read(ledger_id, 0), "v3": v3.read(ledger_id, 0)}
    answers = {name: _answer(site, frame, stop) for name, frame in reads.items()}
    if not any(isinstance(answer, Reply) for answer in answers.values()):
        return {"v2": "yes", "v3": "yes"}
    found = {name: _found(answers[name], frame, (EBADVERSION,)) for name, frame in reads.items()}
    found["batch-read-v2"] = ask(v2.batch_read(ledger_id, 0, 1, 1000)) if found["v2"] == "yes" else found["v2"]
    of_v3 = {
        "batch-read-v3": v3.batch_read(ledger_id, 0, 1, 1000),
        "long-poll": v3_requests.poll(ledger_id, 0, 0),
        "explicit-lac": v3_requests.read_lac(ledger_id),
        "force": v3_requests.force(ledger_id),
        "list-entries": v3_requests.list_entries(ledger_id),
        "bookie-info": v3_requests.info(3),
    }
    for name, frame in of_v3.items():
        found[name] = ask(frame) if found["v3"] == "yes" else found["v3"]
    found["scopes"] = _scopes(site, v3_requests.read(ledger_id, 0, ledger_scope_id=_SCOPE), stop, found["v3"])
    return found


def _scopes(site: Site, frame: bytes, stop: threading.Event, v3: str) -> str:
    """Scopes have no operation of their own: a bookie that does not know them ignores the field, and has no echo."""
    if v3 != "yes":
        return v3
    answer = _answer(site, frame, stop)
    if isinstance(answer, Reply) and getattr(answer.part, "ledger_scope_id", 0) != _SCOPE:
        return "no: it is taken as a request without it"
    return _found(answer, frame)


def _answer(site: Site, frame: bytes, stop: threading.Event) -> _Answer:
    try:
        line = Line.to((site.host, site.port), "probe", Recording(), time.monotonic() + _LIMIT_S, stop.is_set)
    except Mismatch:
        return None
    try:
        line.send(frame)
        return line.receive(_REPLY_TIMEOUT_S)
    except Mismatch:
        return None
    finally:
        line.close()


def _found(answer: _Answer, frame: bytes, not_served: Sequence[Status] = _NOT_SERVED) -> str:
    if isinstance(answer, ConnectionClosed):
        return f"no: {answer}"
    if not isinstance(answer, Reply):
        return "yes"
    dialect = Dialect.V2 if txn_id_of(frame) is None else Dialect.V3
    if answer.dialect is not dialect:
        return f"no: it is answered in {answer.dialect}"
    return f"no: {answer.status.name}" if answer.status in not_served and answer.status else "yes"

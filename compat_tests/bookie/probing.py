"""Find out what a bookie has, each on a connection of its own: what it lacks may close it."""

import threading
import time
from collections.abc import Callable, Mapping

from compat_tests.judge.case import Dialect
from compat_tests.judge.recording import Recording
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import Site
from compat_tests.wire import v3_requests
from compat_tests.wire.line import Line
from compat_tests.wire.replies import Reply, txn_id_of
from compat_tests.wire.requests import Requests
from protocol_specs.wire.status import EBADREQ, EBADVERSION

_LIMIT_S = 5.0
_REPLY_TIMEOUT_S = 2.0
_SCOPE = 1

#: What a bookie says that knows the number of an operation but does not serve it.
_NOT_SERVED = (EBADREQ, EBADVERSION)


def probe(site: Site, ledger_id: int, stop: threading.Event) -> Mapping[str, str]:
    """Ask for each feature.  ``ledger_id`` is one that the bookie does not have.

    If it answers in neither dialect both are taken for granted: the first case then says what is wrong.
    """
    v2, v3 = Requests(Dialect.V2), Requests(Dialect.V3)

    def ask(frame: bytes, garbled: bool = True) -> str:
        return _served(site, frame, stop, lambda reply: True, garbled)

    found = {"v2": ask(v2.read(ledger_id, 0), False), "v3": ask(v3.read(ledger_id, 0), False)}
    if "yes" not in found.values():
        return {"v2": "yes", "v3": "yes"}
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
    scoped = v3_requests.read(ledger_id, 0, ledger_scope_id=_SCOPE)
    echoed = _served(site, scoped, stop, lambda reply: getattr(reply.part, "ledger_scope_id", 0) == _SCOPE)
    found["scopes"] = echoed if found["v3"] == "yes" else found["v3"]
    return found


def _served(
    site: Site, frame: bytes, stop: threading.Event, right: Callable[[Reply], bool], garbled: bool = True
) -> str:
    """Whether a request is served; ``garbled`` says whether it is even if nobody can read the reply."""
    try:
        line = Line.to((site.host, site.port), "probe", Recording(), time.monotonic() + _LIMIT_S, stop.is_set)
    except Mismatch as wrong:
        return f"no: {wrong.what}: {wrong.seen}"
    try:
        line.send(frame)
        outcome = line.receive(_REPLY_TIMEOUT_S)  # right or wrong: what is wrong with it is for the cases to say
    except Mismatch as wrong:
        return "yes" if garbled else f"no: {wrong.what}: {wrong.seen}"
    finally:
        line.close()
    if not isinstance(outcome, Reply):
        return f"no: {outcome}"
    asked_in = Dialect.V2 if txn_id_of(frame) is None else Dialect.V3
    if outcome.dialect is not asked_in:
        return f"no: it is answered in {outcome.dialect}"
    if outcome.status in _NOT_SERVED:
        return f"no: {outcome.status.name}"
    return "yes" if right(outcome) else "no: it is taken as a request without it"

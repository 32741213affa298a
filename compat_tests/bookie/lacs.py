"""Shared by the cases of the explicit last add confirmed: the two requests, and checks of their replies."""

from typing import Any

from compat_tests.bookie.runs import check_part
from compat_tests.bookie.talk import Talk
from compat_tests.wire import v3_requests
from compat_tests.wire.replies import Reply
from protocol_specs.wire.status import EOK, Status


def write_lac(talk: Talk, ledger: int, last_add_confirmed: int, body: bytes | None = None, **options: Any) -> bytes:
    """A WRITE_LAC with a transaction id of its own; ``options`` are those of the raw request."""
    return v3_requests.write_lac(ledger, last_add_confirmed, body, txn_id=talk.requests.number(), **options)


def read_lac(talk: Talk, ledger: int, **options: Any) -> bytes:
    """A READ_LAC with a transaction id of its own."""
    return v3_requests.read_lac(ledger, txn_id=talk.requests.number(), **options)


def expect_written(talk: Talk, ledger: int, last_add_confirmed: int, body: bytes | None = None) -> None:
    """Write, and require an acknowledgement with nothing but status and ledger id."""
    check_part(talk, talk.ask(write_lac(talk, ledger, last_add_confirmed, body)), EOK, ledger_id=ledger)


def expect_lac(
    talk: Talk, ledger: int, status: Status = EOK, *, explicit: bytes | None = None, last: bytes | None = None
) -> Reply:
    """Read, and require this body of the last WRITE_LAC, this last entry, and no other field."""
    wanted = {"lac_body": explicit, "last_entry_body": last}
    present = {name: value for name, value in wanted.items() if value is not None}
    return check_part(talk, talk.ask(read_lac(talk, ledger)), status, ledger_id=ledger, **present)

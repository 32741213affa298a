"""What every other case builds on."""

from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, case
from protocol_specs import fields
from protocol_specs.wire.status import ENOLEDGER, EOK


@case(
    "BKW-BASE-001",
    MUST,
    "sec-read-entry-states",
    sends="A read of entry 0 of a ledger that nobody has written.",
    accepts="ENOLEDGER with the ids of the request and no entry, on a connection that stays open.",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def a_read_of_an_unknown_ledger_is_answered(talk: Talk) -> None:
    """A bookie MUST answer a read of a ledger that it does not have with ENOLEDGER."""
    for _ in range(2):
        talk.expect(talk.requests.read(talk.new_ledger(), 0), ENOLEDGER, body=b"")


@case(
    "BKW-BASE-002",
    MUST,
    "sec-add-entry-order",
    sends="An add of entry 0 to a new ledger; when it is acknowledged, reads of entry 0 and of the last entry.",
    accepts="EOK each, and the entry as it was sent, byte for byte.",
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def what_is_acknowledged_can_be_read(talk: Talk) -> None:
    """A bookie MUST return an entry that it has acknowledged as it was added."""
    ledger_id = talk.new_ledger()
    add = talk.requests.add(ledger_id, 0)
    talk.expect(add, EOK)
    body = add[add.index(ledger_id.to_bytes(8, "big") + bytes(8)) :]
    for entry_id in (0, fields.LAST_ENTRY):
        talk.expect(talk.requests.read(ledger_id, entry_id), EOK, body=body)

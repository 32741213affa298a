"""What every other case of the client role builds on."""

from compat_tests.client.records import CLOSED
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, case


@case(
    "BKW-CBASE-001",
    MUST,
    "sec-ledger-states",
    sends="The client creates a ledger on one bookie, appends two entries, closes it, opens it again and reads it.",
    accepts="Every call goes well, and the entries come back as they were appended.",
    provenance="capture of Java 4.9.2 to 4.18.0",
    limit_s=30.0,  # whatever a client does only once, it does here
)
def a_ledger_is_written_closed_and_read(stage: Stage) -> None:
    """A client MUST be able to write a ledger, close it and read it back."""
    stage.bookies(1)
    writer = stage.client.create(1, password=b"secret")
    stage.check("the ids", [writer.append(b"first"), writer.append(b"second")], [0, 1])
    writer.close()
    stage.check("the state", stage.metadata(writer.ledger_id).state, CLOSED)
    reader = stage.client.open(writer.ledger_id, password=b"secret")
    stage.check("the entries", reader.read(0, 1).payloads, (b"first", b"second"))

"""The bytes of requests, and what goes over which connection."""

from typing import Any

from google.protobuf.message import Message

from compat_tests.client import client_requests as names
from compat_tests.client.client_requests import ClientRequest, understand
from compat_tests.client.readable_ledger import readable_ledger
from compat_tests.client.sealing import master_key
from compat_tests.client.stage import Stage
from compat_tests.judge.case import MUST, V2, V3, case
from compat_tests.judge.recording import TARGET
from protocol_specs import codecs, fields
from protocol_specs.wire import framing, v2, v3, v3_pb2
from protocol_specs.wire.operations import PARTS, Flag, Operation, V3Operation

PAYLOADS = (b"zero", b"one", b"two", b"three")
PASSWORD = b"secret"

_READ = codecs.derive("read request", v2.READ_REQUEST)


def _check_request(stage: Stage, request: ClientRequest, operation: V3Operation, part: Message) -> None:
    """Compare a V3 request with one that has this part and nothing else; context and priority are left out."""
    message = v3_pb2.Request.FromString(request.raw)
    message.ClearField("request_context")
    message.header.ClearField("priority")
    expected = v3_pb2.Request()
    expected.header.version = v3.VERSION
    expected.header.operation = operation  # type: ignore[assignment]
    expected.header.txn_id = request.number
    getattr(expected, PARTS[operation].request).CopyFrom(part)
    stage.check("the request", _one_line(message), _one_line(expected))


def _one_line(message: Any) -> str:
    return " ".join(str(message).split())


@case(
    "BKW-CCONN-001",
    MUST,
    "sec-read-entry-v2",
    dialects=(V2,),
    sends="A read of entry 2 of a closed ledger.",
    accepts="20 bytes behind their length: header 02020000, ledger id, entry id.",
    provenance="D10",
)
def a_v2_read_has_20_bytes(stage: Stage) -> None:
    """A V2 client MUST send a plain read as header 02020000, ledger id and entry id, and nothing behind them."""
    ledger = readable_ledger(stage, PAYLOADS)
    ledger.open().read_entry(2)
    expected = _READ.pack(framing.join_header(2, Operation.READ_ENTRY), ledger.id, 2, b"")
    stage.check("the read", stage.first("reads", ledger.requests(names.READ)).raw.hex(), expected.hex())


@case(
    "BKW-CCONN-002",
    MUST,
    "sec-read-entry-v3",
    dialects=(V3,),
    sends="A read of entry 2 of a closed ledger.",
    accepts="A header of version 3 and operation 1, and a read_request of ledger id and entry id: no flag, no key.",
    provenance="BK#4780",
)
def a_v3_read_has_ledger_and_entry(stage: Stage) -> None:
    """A V3 client MUST send a plain read with version 3, its operation, and a part of ledger id and entry id only."""
    ledger = readable_ledger(stage, PAYLOADS)
    ledger.open().read_entry(2)
    part = v3_pb2.ReadRequest(ledger_id=ledger.id, entry_id=2)
    _check_request(stage, stage.first("reads", ledger.requests(names.READ)), V3Operation.READ_ENTRY, part)


@case(
    "BKW-CCONN-003",
    MUST,
    "sec-fencing",
    dialects=(V2,),
    sends="The client opens, with recovery, a ledger that is open.",
    accepts="Fencing reads of 40 bytes: version 2, flag 1 with or without 4, ledger id, entry id, and the master key.",
    provenance="D10",
)
def a_v2_fencing_read_has_the_key_behind_it(stage: Stage) -> None:
    """A V2 client MUST send a fencing read with flag 1 and the 20 bytes of the ledger's master key."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False, password=PASSWORD)
    stage.client.open(ledger.id, password=PASSWORD)
    requests = ledger.requests(names.READ, fencing=True)
    stage.check("whether there are fencing reads", len(requests) > 0, True)
    for each in requests:
        flags = Flag.FENCING | (Flag.HIGH_PRIORITY if each.high_priority else 0)
        header = framing.join_header(2, Operation.READ_ENTRY, flags)
        expected = _READ.pack(header, ledger.id, each.entry_id, master_key(PASSWORD))
        stage.check("the fencing read", each.raw.hex(), expected.hex())


@case(
    "BKW-CCONN-004",
    MUST,
    "sec-fencing",
    dialects=(V3,),
    sends="The client opens, with recovery, a ledger that is open.",
    accepts="Reads with flag FENCE_LEDGER and the ledger's master key, and nothing else in their part.",
    provenance="seen with Java's client 4.18.0",
)
def a_v3_fencing_read_has_flag_and_key(stage: Stage) -> None:
    """A V3 client MUST send a fencing read with FENCE_LEDGER and the 20 bytes of the ledger's master key."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False, password=PASSWORD)
    stage.client.open(ledger.id, password=PASSWORD)
    requests = ledger.requests(names.READ, fencing=True)
    stage.check("whether there are fencing reads", len(requests) > 0, True)
    for each in requests:
        part = v3_pb2.ReadRequest(ledger_id=ledger.id, entry_id=each.entry_id, master_key=master_key(PASSWORD))
        part.flag = v3_pb2.ReadRequest.FENCE_LEDGER
        _check_request(stage, each, V3Operation.READ_ENTRY, part)


@case(
    "BKW-CCONN-005",
    MUST,
    "sec-read-lac",
    sends="The client asks for the explicit last add confirmed of an open ledger.",
    accepts="READ_LAC of V3 with the ledger id only.",
    provenance="BK#2085",
)
def a_read_lac_has_the_ledger_only(stage: Stage) -> None:
    """A client MUST send READ_LAC with version 3, its operation, and a part of the ledger id."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    ledger.open().handle.last_add_confirmed("explicit")
    requests = ledger.requests(names.READ_LAC)
    stage.check("whether there is a READ_LAC", len(requests) > 0, True)
    for each in requests:
        _check_request(stage, each, V3Operation.READ_LAC, v3_pb2.ReadLacRequest(ledger_id=ledger.id))


@case(
    "BKW-CCONN-006",
    MUST,
    "sec-list-entries",
    since="4.10",
    sends="The client asks one bookie for the list of entries of a ledger.",
    accepts="Operation 11 of V3 with the ledger id only; the ids 0, 1 and 3, as the bookie lists them.",
    provenance="D1, D2, D3",
)
def a_list_of_entries_is_asked_for_and_read(stage: Stage) -> None:
    """A client MUST ask for a list of entries with the ledger id, and read the ids out of it, holes included."""
    ledger = readable_ledger(stage, PAYLOADS, ensemble=1)
    ledger.staged.forget(2)
    found = stage.client.list_entries(ledger.id, ledger.bookies[0].bookie_id)
    stage.check("the ids", found, [0, 1, 3])
    part = v3_pb2.GetListOfEntriesOfLedgerRequest(ledger_id=ledger.id)
    request = stage.first("requests for a list", ledger.requests(names.LIST))
    _check_request(stage, request, V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER, part)


@case(
    "BKW-CCONN-007",
    MUST,
    "sec-v3-requests",
    dialects=(V3,),
    sends="Sixteen reads at once, which the bookie holds.",
    accepts="Each has a transaction id of its own.",
    provenance="V3 matches by the transaction id alone; seen with Java's client 4.18.0",
)
def transaction_ids_of_requests_under_way_differ(stage: Stage) -> None:
    """A V3 client MUST NOT use a transaction id twice among the requests that are under way on a connection."""
    ledger = readable_ledger(stage, [b"payload"] * 16, ensemble=1)
    gate = ledger.bookies[0].on(names.READ, ledger_id=ledger.id).hold()
    reader = ledger.open()
    reads = [reader.begin_read(entry_id) for entry_id in range(16)]
    stage.together(lambda: len(gate.requests), 16)
    stage.check("different transaction ids", len({each.number for each in gate.requests}), 16)
    gate.release()
    stage.check("the payloads", [each.payloads() for each in reads], [(b"payload",)] * 16)


def _dialects_by_connection(stage: Stage) -> dict[str, list[str]]:
    """The protocol versions of the requests on each connection, in order."""
    found: dict[str, list[str]] = {}
    for event in stage.recording.events:
        if event.sender == TARGET:
            found.setdefault(event.line, []).append(understand(event.data[fields.FRAME_LENGTH_SIZE :]).dialect)
    return found


@case(
    "BKW-CCONN-008",
    MUST,
    "sec-detection",
    dialects=(V2,),
    sends="A client of V2 writes, reads, and asks for the explicit last add confirmed.",
    accepts="On no connection does a V3 request follow a V2 request.",
    provenance="D9, BK#2085",
)
def no_v3_follows_v2_on_a_connection(stage: Stage) -> None:
    """A client MUST NOT send V3 on a connection on which it has sent V2: what V2 lacks takes another connection."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False, ensemble=1)
    reader = ledger.open()
    reader.read_entry(0)
    stage.check("the explicit last add confirmed", reader.handle.last_add_confirmed("explicit"), 2)
    reader.read_entry(1)
    for line, dialects in _dialects_by_connection(stage).items():
        stage.check(f"the dialects on {line}", dialects, sorted(dialects, reverse=True))
    every = {dialect for dialects in _dialects_by_connection(stage).values() for dialect in dialects}
    stage.check("the dialects on all connections", sorted(every), [V2, V3])


@case(
    "BKW-CCONN-009",
    MUST,
    "sec-detection",
    dialects=(V3,),
    sends="A client of V3 opens with recovery, reads, and asks for the last add confirmed.",
    accepts="V3 requests only.",
    provenance="seen with Java's client 4.18.0",
)
def a_v3_client_speaks_v3_only(stage: Stage) -> None:
    """A client that was told to speak V3 MUST NOT send requests of V2."""
    ledger = readable_ledger(stage, PAYLOADS, closed=False)
    reader = ledger.open()
    reader.read_entry(0)
    reader.handle.last_add_confirmed("quorum")
    stage.client.open(ledger.id)
    every = {dialect for dialects in _dialects_by_connection(stage).values() for dialect in dialects}
    stage.check("the dialects on all connections", sorted(every), [V3])

"""V3 exchanges of the other operations, and bytes that are not V3, with a Java bookie and with ours."""

from compat_tests.wire.v3_requests import add, auth, fence, force, info, list_entries, read, request
from protocol_specs import codecs
from protocol_specs.wire import framing, v2, v3_pb2
from protocol_specs.wire.operations import Operation, V3Operation
from tests.integration.java.talk import CLOSED, Differs, Table, Talk

TABLE = Table()

BEFORE_LISTS = (4, 9)
BEFORE_OPERATION_12 = (4, 16)

_V2_READ = codecs.derive("read request", v2.READ_REQUEST)


def v2_read(ledger_id: int, entry_id: int) -> bytes:
    header = framing.join_header(framing.VERSION_MAX, Operation.READ_ENTRY)
    return _V2_READ.pack(header, ledger_id, entry_id, None)


@TABLE.exchange()
def forces(talk: Talk) -> None:
    talk.ask("unknown ledger", force(talk.ledger))
    talk.ask("which stays unknown", read(talk.ledger, 0))
    talk.ask("deferred add", add(talk.ledger, 0, write_flags=1))
    talk.ask("force", force(talk.ledger))
    talk.ask("force again", force(talk.ledger, priority=100))
    talk.ask("entry", read(talk.ledger, 0))
    for version in (1, 2):
        talk.ask(f"version {version}", force(talk.ledger, version=version))
    talk.ask("fence", fence(talk.ledger))
    talk.ask("fenced", force(talk.ledger))


@TABLE.exchange(differs={"no part": [Differs("S10", CLOSED, "EOK", since=(4, 18))]})
def force_without_its_part(talk: Talk) -> None:
    talk.ask("no part", request(V3Operation.FORCE_LEDGER))


_LIST_4_9 = Differs("op 11", CLOSED, "ENOLEDGER", until=BEFORE_LISTS)


@TABLE.exchange(differs={"unknown ledger": [_LIST_4_9]})
def list_of_an_unknown_ledger(talk: Talk) -> None:
    talk.ask("unknown ledger", list_entries(talk.ledger))


def _lists(text: str) -> list[Differs]:
    return [Differs("op 11", CLOSED, text, until=BEFORE_LISTS)]


LISTED = "EOK availability_of_entries_of_ledger"


@TABLE.exchange(differs={"empty": _lists(LISTED)})
def list_of_a_ledger_without_entries(talk: Talk) -> None:
    talk.ask("fence", fence(talk.ledger))
    talk.ask("empty", list_entries(talk.ledger))


@TABLE.exchange(differs={"one sequence": _lists(LISTED)})
def list_of_one_sequence(talk: Talk) -> None:
    for entry_id in range(3):
        talk.ask(f"add {entry_id}", add(talk.ledger, entry_id))
    talk.ask("one sequence", list_entries(talk.ledger))


@TABLE.exchange(differs={"grouped": [*_lists(LISTED), Differs("D2", LISTED, LISTED)]})
def list_of_several_sequences(talk: Talk) -> None:
    """Java writes a group for each of them, ours one for all."""
    for entry_id in (1, 2, 4, 5, 7, 8, 10, 11):
        talk.ask(f"add {entry_id}", add(talk.ledger, entry_id))
    talk.ask("grouped", list_entries(talk.ledger))


@TABLE.exchange(
    differs={
        "version 1": [Differs("op 11", CLOSED, "EBADVERSION", until=BEFORE_LISTS)],
        "no part": [
            Differs("S10", CLOSED, "ENOLEDGER", since=(4, 18)),
            Differs("op 11", CLOSED, "ENOLEDGER", until=BEFORE_LISTS),
        ],
    }
)
def odd_requests_for_a_list(talk: Talk) -> None:
    talk.ask("version 1", list_entries(talk.ledger, version=1), on="version")
    talk.ask("no part", request(V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER), on="part")


@TABLE.exchange()
def bookie_info(talk: Talk) -> None:
    for requested in (None, 0, 1, 2, 3, 4, 7, -1):
        talk.ask(f"requested {requested}", info(requested))
    talk.ask("high priority", info(3, priority=100))
    talk.ask("version 1", info(3, version=1))
    talk.ask("no part", request(V3Operation.GET_BOOKIE_INFO))


@TABLE.exchange()
def auth_where_there_is_none(talk: Talk) -> None:
    talk.ask("some plugin", auth("foo", b"abc"))
    talk.ask("again", auth("AuthDisabledPlugin", b""))
    talk.ask("version 2 and a priority", auth("foo", b"abc", version=2, priority=9))
    talk.ask("no part", request(V3Operation.AUTH))
    talk.ask("read", read(talk.ledger, 0))


@TABLE.exchange()
def start_tls_where_there_is_none(talk: Talk) -> None:
    part = v3_pb2.StartTlsRequest()
    talk.ask("start", request(V3Operation.START_TLS, part))
    talk.ask("without its part", request(V3Operation.START_TLS))
    talk.ask("version 2 and a priority", request(V3Operation.START_TLS, part, version=2, priority=9))
    talk.ask("read", read(talk.ledger, 0))


@TABLE.exchange()
def reserved_operations(talk: Talk) -> None:
    for operation in (V3Operation.RANGE_READ_ENTRY, V3Operation.RANGE_ADD_ENTRY):
        talk.ask(f"operation {operation}", request(operation))
        talk.ask(f"operation {operation} with version and priority", request(operation, version=2, priority=9))


_BATCH_4_16 = Differs("op 12", CLOSED, "EBADREQ alone", until=BEFORE_OPERATION_12)


@TABLE.exchange(differs={"plain": [_BATCH_4_16], "version and priority": [_BATCH_4_16]})
def batch_read_without_its_part(talk: Talk) -> None:
    talk.ask("plain", request(V3Operation.BATCH_READ_ENTRY), on="plain")
    talk.ask("version and priority", request(V3Operation.BATCH_READ_ENTRY, version=2, priority=9), on="version")


@TABLE.exchange()
def unknown_operations(talk: Talk) -> None:
    for operation in (0, 13, 127):
        frame = request(V3Operation.READ_LAC)
        assert frame[4:6] == b"\x10\x07"
        talk.ask(f"operation {operation}", frame[:5] + bytes([operation]) + frame[6:], on=str(operation))


@TABLE.exchange()
def one_dialect_after_the_other(talk: Talk) -> None:
    talk.ask("V3", add(talk.ledger, 0))
    talk.ask("V2 after V3", v2_read(talk.ledger, 0))
    talk.ask("V2 again", v2_read(talk.ledger, 1))
    talk.ask("V3 after V2", read(talk.ledger, 0))


@TABLE.exchange()
def broken_frames(talk: Talk) -> None:
    whole = add(talk.ledger, 0)
    talk.ask("truncated", whole[:-3], on="truncated")
    talk.ask("empty", b"", on="empty")
    talk.ask("no header", bytes.fromhex("a20604") + b"\x08\x01\x10\x01", on="headless")
    talk.ask("nothing was stored", read(talk.ledger, 0), on="other")

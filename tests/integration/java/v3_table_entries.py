"""V3 exchanges of adds and reads, with a Java bookie and with ours."""

from compat_tests.wire.entries import KEY, OTHER_KEY, entry
from compat_tests.wire.v3_requests import add, fence, force, info, read, read_lac, request, with_change
from protocol_specs import fields
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation
from tests.integration.java.talk import CLOSED, SILENT, Differs, Table, Talk

TABLE = Table()

RECOVERY_ADD = v3_pb2.AddRequest.RECOVERY_ADD

#: A field number that no release has, and an enum value likewise: tag and value, to be appended to a part.
UNKNOWN_FIELD = bytes.fromhex("f03e 01")
UNKNOWN_FLAG = bytes.fromhex("a006 09")


def _without_part(until_4_17: str) -> dict[str, list[Differs]]:
    """A request without its part: all zeros until 4.17, and to ours; 4.18 closes the connection."""
    return {"no part": [Differs("S10", CLOSED, until_4_17, since=(4, 18))]}


@TABLE.exchange()
def adds(talk: Talk) -> None:
    talk.ask("first", add(talk.ledger, 0))
    talk.ask("behind a hole", add(talk.ledger, 5))
    talk.ask("again", add(talk.ledger, 0))
    talk.ask("other password", add(talk.ledger, 1, key=OTHER_KEY))
    talk.ask("of another ledger than the request says", add(talk.ledger, 7, body=entry(talk.ledger + 1, 3)))
    talk.ask("is stored under the entry's own ids", read(talk.ledger + 1, 3))
    talk.ask("and not under the request's", read(talk.ledger, 7))
    talk.ask("high priority", add(talk.ledger, 6, priority=100))


@TABLE.exchange()
def adds_of_odd_sizes(talk: Talk) -> None:
    for size in (0, 10, 16, 23, 24, 31):
        talk.ask(f"{size} bytes", add(talk.ledger, size, body=entry(talk.ledger, size)[:size]))
    talk.ask("read of 24 bytes", read(talk.ledger, 24))
    talk.ask("nothing but metadata", add(talk.ledger, 32, body=entry(talk.ledger, 32, payload=b"")))
    talk.ask("100 kB", add(talk.ledger, 33, body=entry(talk.ledger, 33, payload=bytes(100_000))))
    talk.ask("read of 100 kB", read(talk.ledger, 33))


@TABLE.exchange(
    differs={
        "first with 21 bytes": [Differs("key size", "EOK", "EBADREQ")],
        "next with 21 bytes": [Differs("key size", "EOK", "EBADREQ")],
        "then with another than 21": [Differs("key size", "EUA", "EOK")],
    }
)
def adds_with_keys_of_any_length(talk: Talk) -> None:
    for index, key in enumerate((b"", b"short", bytes(20), bytes(21))):
        talk.ask(f"first with {len(key)} bytes", add(talk.ledger + index, 0, key=key))
        talk.ask(f"next with {len(key)} bytes", add(talk.ledger + index, 1, key=key))
        talk.ask(f"then with another than {len(key)}", add(talk.ledger + index, 2, key=KEY))


@TABLE.exchange()
def adds_with_write_flags(talk: Talk) -> None:
    for index, flags in enumerate((0, 1, 2, 255, -1)):
        talk.ask(f"write flags {flags}", add(talk.ledger, index, write_flags=flags))
    talk.ask("last", read(talk.ledger, fields.LAST_ENTRY))
    talk.ask("deferred recovery", add(talk.ledger, 9, write_flags=1, flag=RECOVERY_ADD))


@TABLE.exchange()
def adds_in_other_versions(talk: Talk) -> None:
    for version in (1, 2):
        talk.ask(f"version {version}", add(talk.ledger, 0, version=version))
    talk.ask("nothing was stored", read(talk.ledger, 0))
    for version in (0, 4):
        frame = add(talk.ledger, 0)
        assert frame[2:4] == b"\x08\x03"
        talk.ask(f"version {version}", frame[:3] + bytes([version]) + frame[4:], on=str(version))


@TABLE.exchange()
def adds_to_a_fenced_ledger(talk: Talk) -> None:
    talk.ask("before", add(talk.ledger, 0))
    talk.ask("fence", fence(talk.ledger))
    talk.ask("plain", add(talk.ledger, 1))
    talk.ask("high priority", add(talk.ledger, 1, priority=1))
    talk.ask("deferred", add(talk.ledger, 1, write_flags=1))
    talk.ask("of an entry that is there", add(talk.ledger, 0))
    talk.ask("other password", add(talk.ledger, 1, key=OTHER_KEY))
    talk.ask("recovery with another password", add(talk.ledger, 1, key=OTHER_KEY, flag=RECOVERY_ADD))
    talk.ask("recovery", add(talk.ledger, 1, flag=RECOVERY_ADD))
    talk.ask("recovery of high priority", add(talk.ledger, 2, flag=RECOVERY_ADD, priority=100))
    talk.ask("last", read(talk.ledger, fields.LAST_ENTRY))
    talk.ask("fence again", fence(talk.ledger))


@TABLE.exchange(
    differs={
        "entry -1": [Differs("S4", "EOK", "EBADREQ")],
        "entry -2": [Differs("S4", "EOK", "EBADREQ")],
    }
)
def adds_of_negative_entries(talk: Talk) -> None:
    """Only ids after which a Java bookie can still be started again."""
    for entry_id in (-1, -2):
        talk.ask(f"entry {entry_id}", add(talk.ledger, entry_id, body=entry(talk.ledger, entry_id, -1)))


@TABLE.exchange(differs=_without_part("EBADREQ"))
def add_without_its_part(talk: Talk) -> None:
    talk.ask("no part", request(V3Operation.ADD_ENTRY))


@TABLE.exchange()
def adds_that_lack_a_field(talk: Talk) -> None:
    for name in ("ledger_id", "entry_id", "master_key", "body"):
        frame = with_change(add(talk.ledger, 0), lambda message, name=name: message.add_request.ClearField(name))
        talk.ask(name, frame, on=name)


@TABLE.exchange()
def what_a_request_may_carry(talk: Talk) -> None:
    def with_context(message: v3_pb2.Request) -> None:
        message.request_context.add(key="trace", value="7")
        message.request_context.add(key="", value="")

    def with_rest(rest: bytes):
        def change(message: v3_pb2.Request) -> None:
            part = message.add_request.SerializeToString() + rest
            message.add_request.Clear()
            message.add_request.MergeFromString(part)

        return change

    talk.ask("context", with_change(add(talk.ledger, 0), with_context))
    talk.ask("context of a read", with_change(read(talk.ledger, 0), with_context))
    talk.ask("unknown field", add(talk.ledger, 1) + UNKNOWN_FIELD)
    talk.ask("unknown field of the part", with_change(add(talk.ledger, 2), with_rest(UNKNOWN_FIELD)))
    talk.ask("unknown flag of the part", with_change(add(talk.ledger, 3), with_rest(UNKNOWN_FLAG)))
    head, part = add(talk.ledger, 4)[:8], add(talk.ledger, 4)[8:]
    talk.ask("header behind the part", part + head)
    talk.ask("transaction 0", add(talk.ledger, 5, txn_id=0))
    talk.ask("transaction of 64 bits", add(talk.ledger, 6, txn_id=2**64 - 1))
    talk.ask("priority of 32 bits", read(talk.ledger, 6, priority=2**32 - 1))
    talk.ask("scope 0 of BP-34", read(talk.ledger, 6, ledger_scope_id=0))


@TABLE.exchange(
    differs={
        "entry -2": [Differs("S11", SILENT, "EBADREQ")],
    }
)
def reads(talk: Talk) -> None:
    talk.ask("unknown ledger", read(talk.ledger, 0))
    talk.ask("last of an unknown ledger", read(talk.ledger, fields.LAST_ENTRY))
    talk.ask("entry -2 of an unknown ledger", read(talk.ledger, -2))
    talk.ask("negative ledger", read(-5, 0))
    for entry_id in range(4):
        talk.ask(f"add {entry_id}", add(talk.ledger, entry_id))
    talk.ask("first", read(talk.ledger, 0))
    talk.ask("last", read(talk.ledger, fields.LAST_ENTRY))
    before_the_last = read(talk.ledger, -2, txn_id=70)
    talk.send(before_the_last)
    talk.ask("missing entry", read(talk.ledger, 4))
    talk.no_answer_yet("entry -2", before_the_last)
    talk.ask("far away", read(talk.ledger, fields.ENTRY_ID_MAX))
    talk.ask("high priority", read(talk.ledger, 1, priority=100))
    talk.ask("key that nobody asked for", read(talk.ledger, 1, key=OTHER_KEY))
    talk.ask("piggyback without a previous last add confirmed", read(talk.ledger, 1, flag=2))
    talk.ask("timeout without a previous last add confirmed", read(talk.ledger, 1, time_out=60_000))
    for version in (1, 2):
        talk.ask(f"version {version}", read(talk.ledger, 1, version=version))


@TABLE.exchange(differs=_without_part("ENOLEDGER"))
def read_without_its_part(talk: Talk) -> None:
    talk.ask("no part", request(V3Operation.READ_ENTRY))


@TABLE.exchange()
def fencing(talk: Talk) -> None:
    talk.ask("add", add(talk.ledger, 0))
    talk.ask("without a key", read(talk.ledger, 0, flag=v3_pb2.ReadRequest.FENCE_LEDGER))
    talk.ask("other password", fence(talk.ledger, key=OTHER_KEY))
    talk.ask("empty key", fence(talk.ledger, key=b""))
    talk.ask("not fenced by those", add(talk.ledger, 1))
    talk.ask("last", fence(talk.ledger))
    talk.ask("fenced", add(talk.ledger, 2))
    talk.ask("one entry", fence(talk.ledger, 0, priority=100))
    talk.ask("missing entry", fence(talk.ledger, 7))
    talk.ask("with a previous last add confirmed", fence(talk.ledger, 0, previous_lac=0, time_out=60_000))
    talk.ask("version 2", fence(talk.ledger, 0, version=2))
    talk.ask("plain read", read(talk.ledger, 1))


@TABLE.exchange()
def fencing_an_unknown_ledger(talk: Talk) -> None:
    talk.ask("fence", fence(talk.ledger))
    talk.ask("now it is known", read(talk.ledger, 0))
    talk.ask("last", read(talk.ledger, fields.LAST_ENTRY))
    talk.ask("add", add(talk.ledger, 0))
    talk.ask("other password", fence(talk.ledger, key=OTHER_KEY))
    talk.ask("recovery add", add(talk.ledger, 0, flag=RECOVERY_ADD))
    talk.ask("fence of an entry", fence(talk.ledger, 0))


@TABLE.exchange()
def many_requests_at_once(talk: Talk) -> None:
    """Replies may come in any order; each bears the transaction id of its request."""
    adds = {f"add {entry_id}": add(talk.ledger, entry_id, txn_id=100 + entry_id) for entry_id in range(60)}
    talk.ask_together(adds)
    reads = {f"read {entry_id}": read(talk.ledger, entry_id, txn_id=500 + entry_id) for entry_id in range(70)}
    talk.ask_together(reads)
    again = {f"read {entry_id} again": read(talk.ledger, 3, txn_id=900 + entry_id) for entry_id in range(10)}
    others = {"force": force(talk.ledger, txn_id=7), "last add confirmed": read_lac(talk.ledger, txn_id=8)}
    talk.ask_together({**again, **others, "info": info(0, txn_id=10), "unknown ledger": read(-7, 0, txn_id=9)})

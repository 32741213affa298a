"""V2 exchanges, in every version and combination of flags, with a Java bookie and with ours."""

from collections.abc import Callable

from compat_tests.wire.entries import KEY, OTHER_KEY
from compat_tests.wire.v2_requests import add, batch_read, operation, read
from protocol_specs import fields
from protocol_specs.wire.operations import Operation
from tests.integration.java.talk import Differs, Table, Talk

TABLE = Table()

BATCH_TABLE = Table()
"""From 4.17."""

VERSIONS = (0, 1, 2, 3, 255)
FLAGS = range(8)
KEYS = {"no key": b"", "key": KEY, "other key": OTHER_KEY, "key and more": KEY + b"more"}


def _adds(version: int) -> Callable[[Talk], None]:
    def adds(talk: Talk) -> None:
        for fenced in (False, True):
            ledger_id = talk.ledger + fenced
            state = "fenced" if fenced else "open"
            talk.ask(f"{state}: first", add(ledger_id, 0))
            if fenced:
                talk.ask("fence", read(ledger_id, fields.LAST_ENTRY, flags=1, key=KEY))
            for flags in FLAGS:
                talk.ask(f"{state}: flags {flags}", add(ledger_id, 1 + flags, version=version, flags=flags))
                wrong = add(ledger_id, 20 + flags, version=version, flags=flags, key=OTHER_KEY)
                talk.ask(f"{state}: flags {flags}, other key", wrong)
            talk.ask(f"{state}: last", read(ledger_id, fields.LAST_ENTRY))
        talk.ask("unknown flags", add(talk.ledger, 40, version=version, flags=0xFFF8))

    adds.__name__ = f"v2_adds_of_version_{version}"
    return adds


def _reads(version: int) -> Callable[[Talk], None]:
    def reads(talk: Talk) -> None:
        for flags in FLAGS:
            ledger_id = talk.ledger + flags
            talk.ask(f"flags {flags}: add", add(ledger_id, 0))
            for name, key in KEYS.items():
                label = f"flags {flags}, {name}"
                # A connection of its own: the bookie may close it, and that must not end the others.
                talk.ask(f"{label}: entry", read(ledger_id, 0, version=version, flags=flags, key=key), on=label)
                last = read(ledger_id, fields.LAST_ENTRY, version=version, flags=flags, key=key)
                talk.ask(f"{label}: last", last, on=f"{label}, last")
                missing = read(ledger_id, 7, version=version, flags=flags, key=key)
                talk.ask(f"{label}: missing", missing, on=f"{label}, missing")
            talk.ask(f"flags {flags}: fenced by any of these", add(ledger_id, 1))
        talk.ask("unknown ledger", read(talk.ledger + 9, 0, version=version))
        talk.ask("unknown flags", read(talk.ledger, 0, version=version, flags=0xFFF8))

    reads.__name__ = f"v2_reads_of_version_{version}"
    return reads


def _batches(version: int) -> Callable[[Talk], None]:
    def batches(talk: Talk) -> None:
        for flags in FLAGS:
            ledger_id = talk.ledger + flags
            for entry_id in (0, 1, 2, 4):
                talk.ask(f"flags {flags}: add {entry_id}", add(ledger_id, entry_id))
            for name, key in KEYS.items():
                label = f"flags {flags}, {name}"
                frame = batch_read(ledger_id, 0, 10, 10_000, version=version, flags=flags, key=key)
                talk.ask(f"{label}: three before the hole", frame, on=label)
                missing = batch_read(ledger_id, 3, 10, 10_000, version=version, flags=flags, key=key)
                talk.ask(f"{label}: hole", missing, on=f"{label}, hole")
            talk.ask(f"flags {flags}: fenced by any of these", add(ledger_id, 5))
        talk.ask("unknown ledger", batch_read(talk.ledger + 9, 0, 1, 1000, version=version))

    batches.__name__ = f"v2_batch_reads_of_version_{version}"
    return batches


for _version in VERSIONS:
    TABLE.exchange()(_adds(_version))
    TABLE.exchange()(_reads(_version))
    BATCH_TABLE.exchange()(_batches(_version))


@TABLE.exchange()
def v2_operations(talk: Talk) -> None:
    for code in (0, 4, 5, 6, 8, 9, 10, 128, 255):
        for version in (0, 2):
            talk.ask(f"operation {code} of version {version}", operation(code, version=version), on=f"{code} {version}")
    talk.ask("undecodable credentials", operation(Operation.AUTH), on="auth")
    for version in (0, 1, 2, 3):
        body = bytes.fromhex("0a03666f6f1203616263")
        talk.ask(f"credentials of version {version}", operation(Operation.AUTH, version=version, body=body))


@TABLE.exchange()
def v2_frames_cut_short(talk: Talk) -> None:
    for name, frame in (("an add", add(talk.ledger, 0)), ("a read", read(talk.ledger, 0))):
        for size in (0, 1, 3, 4, 19, 24, 39, 40, 47, 48, 55):
            if size < len(frame):
                label = f"{size} bytes of {name}"
                talk.ask(label, frame[:size], on=label)


@BATCH_TABLE.exchange()
def v2_batch_budget(talk: Talk) -> None:
    for entry_id in range(10):
        talk.ask(f"add {entry_id}", add(talk.ledger, entry_id))
    for count in (-5, 0, 1, 3, 10, 11, 2**31 - 1):
        talk.ask(f"count {count}", batch_read(talk.ledger, 0, count, 100_000))
    for size in (-1, 0, 1, 76, 117, 118, 158, 159, 10**9):
        talk.ask(f"size {size}", batch_read(talk.ledger, 0, 10, size))
    for start in (-1, 5, 9, 10, 2**62):
        talk.ask(f"from {start}", batch_read(talk.ledger, start, 3, 100_000))
    talk.ask("trailing bytes", batch_read(talk.ledger, 0, 1, 1000, key=b"more"))
    talk.ask("cut short", batch_read(talk.ledger, 0, 1, 1000)[:-1], on="short")


@BATCH_TABLE.exchange(
    differs={"large first": [Differs("D11", "EOK 2 entries", "EOK 11 entries", since=(4, 18))]},
)
def v2_batch_whose_first_entry_is_large(talk: Talk) -> None:
    """4.18 estimates from the size of the first entry how many fit."""
    talk.ask("add 0", _large(talk.ledger, 0, 1000))
    for entry_id in range(1, 20):
        talk.ask(f"add {entry_id}", _large(talk.ledger, entry_id, 100))
    talk.ask("large first", batch_read(talk.ledger, 0, 100, 2600))


def _large(ledger_id: int, entry_id: int, payload_size: int) -> bytes:
    return add(ledger_id, entry_id) + bytes(payload_size)

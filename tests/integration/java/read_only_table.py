"""Exchanges with a read-only bookie, in both protocol versions, with a Java bookie and with ours."""

from compat_tests.wire import v2_requests
from compat_tests.wire.entries import KEY, OTHER_KEY
from compat_tests.wire.v3_requests import add, fence, force, info, poll, read, read_lac, write_lac
from protocol_specs import fields
from protocol_specs.wire import v3_pb2
from tests.integration.java.talk import Differs, Table, Talk

TABLE = Table()

RECOVERY_ADD = v3_pb2.AddRequest.RECOVERY_ADD


@TABLE.exchange(differs={"too short an add": [Differs("what is looked at first", "EREADONLY", "EBADREQ")]})
def read_only_bookie(talk: Talk) -> None:
    """It takes adds with a high priority: those of recovery and re-replication."""
    talk.ask("add", add(talk.ledger, 0))
    talk.ask("recovery add", add(talk.ledger, 0, flag=RECOVERY_ADD))
    talk.ask("deferred add", add(talk.ledger, 0, write_flags=1))
    talk.ask("nothing was stored", read(talk.ledger, 0))
    talk.ask("too short an add", add(talk.ledger, 0, body=b"short"))
    talk.ask("version 1", add(talk.ledger, 0, version=1))
    talk.ask("high priority", add(talk.ledger, 0, priority=1))
    talk.ask("recovery add of high priority", add(talk.ledger, 1, priority=100, flag=RECOVERY_ADD))
    talk.ask("other password", add(talk.ledger, 2, key=OTHER_KEY))
    talk.ask("other password, high priority", add(talk.ledger, 2, key=OTHER_KEY, priority=100))
    talk.ask("last", read(talk.ledger, fields.LAST_ENTRY))
    talk.ask("write of the last add confirmed", write_lac(talk.ledger, 0))
    talk.ask("with a high priority", write_lac(talk.ledger, 0, priority=100))
    talk.ask("read of the last add confirmed", read_lac(talk.ledger))
    talk.ask("poll", poll(talk.ledger, fields.NO_ENTRY, 0))
    talk.ask("force", force(talk.ledger))
    talk.ask("info", info(3))
    talk.ask("fence", fence(talk.ledger))
    talk.ask("add when fenced", add(talk.ledger, 3))
    talk.ask("high priority when fenced", add(talk.ledger, 3, priority=100))
    talk.ask("recovery when fenced", add(talk.ledger, 3, priority=100, flag=RECOVERY_ADD))
    talk.ask("fence of an unknown ledger", fence(talk.ledger + 1))


@TABLE.exchange()
def read_only_bookie_in_v2(talk: Talk) -> None:
    for flags in range(8):
        talk.ask(f"flags {flags}", v2_requests.add(talk.ledger, flags, flags=flags))
        talk.ask(f"flags {flags}, other key", v2_requests.add(talk.ledger, 10 + flags, flags=flags, key=OTHER_KEY))
    talk.ask("last", v2_requests.read(talk.ledger, fields.LAST_ENTRY))
    talk.ask("fence", v2_requests.read(talk.ledger, fields.LAST_ENTRY, flags=1, key=KEY))
    for flags in range(8):
        talk.ask(f"fenced: flags {flags}", v2_requests.add(talk.ledger, 20 + flags, flags=flags))

"""V3 exchanges that go on after the bookie was stopped, or killed, and started again."""

from compat_tests.wire.entries import OTHER_KEY
from compat_tests.wire.v3_requests import add, fence, poll, read, read_lac, write_lac
from protocol_specs import fields
from protocol_specs.wire import v3_pb2
from tests.integration.java.talk import Differs, Table, Talk

TABLE = Table()

RECOVERY_ADD = v3_pb2.AddRequest.RECOVERY_ADD


def _three_entries(talk: Talk) -> None:
    for entry_id in range(3):
        talk.ask(f"add {entry_id}", add(talk.ledger, entry_id))


def _explicit(talk: Talk) -> None:
    _three_entries(talk)
    talk.ask("write", write_lac(talk.ledger, 2))


@TABLE.over_restart(
    _explicit,
    crash=False,
    differs={
        "explicit": [Differs("S7", "EOK last_entry_body", "EOK lac_body last_entry_body")],
        "a read": [Differs("S7", "EOK body max_lac=1", "EOK body max_lac=2")],
    },
)
def explicit_last_add_confirmed_is_kept(talk: Talk) -> None:
    talk.ask("explicit", read_lac(talk.ledger))
    talk.ask("a read", read(talk.ledger, 0))
    talk.ask("another write", write_lac(talk.ledger, 2))
    talk.ask("from then on", read_lac(talk.ledger))
    talk.ask("and reads", read(talk.ledger, 0))


@TABLE.over_restart(_explicit, crash=True)
def explicit_last_add_confirmed_is_kept_over_a_crash(talk: Talk) -> None:
    talk.ask("explicit", read_lac(talk.ledger))
    talk.ask("a read", read(talk.ledger, 1))
    talk.ask("a poll", poll(talk.ledger, 1, 0))


@TABLE.over_restart(
    _three_entries,
    crash=False,
    differs={
        "other password": [Differs("S3", "EOK", "EUA")],
        "password": [Differs("S3", "EUA", "EOK")],
    },
)
def password_is_kept(talk: Talk) -> None:
    talk.ask("entry", read(talk.ledger, fields.LAST_ENTRY))
    talk.ask("other password", add(talk.ledger, 3, key=OTHER_KEY))
    talk.ask("password", add(talk.ledger, 4))


@TABLE.over_restart(_three_entries, crash=True)
def password_is_kept_over_a_crash(talk: Talk) -> None:
    talk.ask("other password", add(talk.ledger, 3, key=OTHER_KEY))
    talk.ask("password", add(talk.ledger, 4))
    talk.ask("last", read(talk.ledger, fields.LAST_ENTRY))


def _fence_unknown(talk: Talk) -> None:
    talk.ask("fence", fence(talk.ledger))
    talk.ask("fenced", add(talk.ledger, 0))


@TABLE.over_restart(_fence_unknown, crash=True, differs={"add": [Differs("S1", "EOK", "EFENCED")]})
def fence_of_an_unknown_ledger_over_a_crash(talk: Talk) -> None:
    talk.ask("add", add(talk.ledger, 0))


def _fence_known(talk: Talk) -> None:
    _three_entries(talk)
    talk.ask("fence", fence(talk.ledger))


@TABLE.over_restart(_fence_known, crash=True)
def fence_over_a_crash(talk: Talk) -> None:
    talk.ask("add", add(talk.ledger, 3))
    talk.ask("recovery add", add(talk.ledger, 3, flag=RECOVERY_ADD))
    talk.ask("last", read(talk.ledger, fields.LAST_ENTRY))


def _deferred(talk: Talk) -> None:
    talk.ask("deferred add", add(talk.ledger, 0, write_flags=1))


@TABLE.over_restart(_deferred, crash=False)
def deferred_add_over_a_clean_stop(talk: Talk) -> None:
    talk.ask("entry", read(talk.ledger, 0))

"""Exchanges with a bookie that asks for credentials, by a client that has none, with Java's and with ours."""

from compat_tests.wire import v2_requests
from compat_tests.wire.v3_requests import (
    add,
    auth,
    fence,
    force,
    info,
    list_entries,
    poll,
    read,
    read_lac,
    request,
    write_lac,
)
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Operation, V3Operation
from tests.integration.java.talk import CLOSED, Differs, Table, Talk

TABLE = Table()

#: The credentials of a plugin that the bookie does not have.
OTHER_PLUGIN = bytes.fromhex("0a03666f6f1203616263")


@TABLE.exchange(differs={"list": [Differs("op 11", CLOSED, "EUA alone", until=(4, 9))]})
def refused_in_v3(talk: Talk) -> None:
    """Every one under its own header, and the connection stays."""
    frames = {
        "add": add(talk.ledger, 0),
        "recovery add": add(talk.ledger, 0, flag=v3_pb2.AddRequest.RECOVERY_ADD, priority=100),
        "version 1": add(talk.ledger, 0, version=1),
        "read": read(talk.ledger, 0),
        "fence": fence(talk.ledger),
        "poll": poll(talk.ledger, 0, 60_000),
        "write of the last add confirmed": write_lac(talk.ledger, 0),
        "read of the last add confirmed": read_lac(talk.ledger),
        "force": force(talk.ledger),
        "info": info(3),
        "version 2 and a priority": info(3, version=2, priority=9),
        "reserved operation": request(V3Operation.RANGE_ADD_ENTRY),
        "without its part": request(V3Operation.READ_ENTRY),
        "credentials of another plugin": auth("foo", b"abc"),
        "TLS": request(V3Operation.START_TLS, v3_pb2.StartTlsRequest()),
        "TLS without its part": request(V3Operation.START_TLS),
        "read after all these": read(talk.ledger, 0),
    }
    for label, frame in frames.items():
        talk.ask(label, frame)
    talk.ask("list", list_entries(talk.ledger), on="list")


@TABLE.exchange()
def refused_in_v2(talk: Talk) -> None:
    for version in (0, 1, 2, 3):
        talk.ask(f"add of version {version}", v2_requests.add(talk.ledger, 0, version=version))
        talk.ask(f"read of version {version}", v2_requests.read(talk.ledger, 0, version=version))
    talk.ask("credentials of another plugin", v2_requests.operation(Operation.AUTH, body=OTHER_PLUGIN))


@TABLE.exchange()
def batch_read_before_credentials(talk: Talk) -> None:
    talk.ask("batch read", v2_requests.batch_read(talk.ledger, 0, 1, 1000))


@TABLE.exchange()
def one_dialect_after_the_other_before_credentials(talk: Talk) -> None:
    talk.ask("V3", read(talk.ledger, 0))
    talk.ask("V2 after V3", v2_requests.read(talk.ledger, 0))
    talk.ask("V3 after V2", read(talk.ledger, 0))


CHALLENGE = "EOK auth_plugin_name=sasl payload"


@TABLE.exchange(differs={"first token": [Differs("nonce", CHALLENGE, CHALLENGE)]})
def first_token(talk: Talk) -> None:
    """The content of the token does not matter: the answer is a challenge, with a nonce of its own."""
    talk.ask("first token", auth("sasl", b""))
    talk.ask("read", read(talk.ledger, 0))

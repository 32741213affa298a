"""Tokens of a bookie: one that makes no sense is the bookie's fault."""

from typing import Any

import pytest

from compat_tests.bookie.login import challenge_of, directives_of, expect_shut
from compat_tests.bookie.talk import Talk
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import V2
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import Site
from compat_tests.wire.replies import ConnectionClosed, Reply, Silence
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.auth import SASL_PLUGIN
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import ENOLEDGER, EOK, EUA, Status
from tests.compat_tests.judge.fake_environment import make_case


def reply(token: bytes | None) -> Reply:
    message = None if token is None else v3_pb2.AuthMessage(auth_plugin_name=SASL_PLUGIN, payload=token)
    return Reply(V2, b"", Operation.AUTH, 2, None, message=message)


def talk() -> Talk:
    return Talk(Brief(make_case("BKW-AUTH-999"), V2, seed=1), Site("127.0.0.1", 1))


def test_a_challenge_is_read() -> None:
    assert challenge_of(talk(), reply(b'realm="x",nonce="y"')) == {"realm": "x", "nonce": "y"}


@pytest.mark.parametrize("token", [None, b"", b"\xff\xfe", b'realm="x"', b"=,="])
def test_what_is_none_is_told(token: bytes | None) -> None:
    with pytest.raises(Mismatch):
        challenge_of(talk(), reply(token))


def test_any_other_token_may_lack_a_nonce() -> None:
    assert directives_of(reply(b"rspauth=0")) == {"rspauth": "0"}
    with pytest.raises(Mismatch, match="DIGEST-MD5"):
        directives_of(reply(b"rspauth"))


def line(outcome: Reply | ConnectionClosed | Silence) -> Any:
    """A connection on which any request has this outcome."""

    class FakeLine:
        def ask(self, frame: bytes) -> Reply | ConnectionClosed | Silence:
            return outcome

    return FakeLine()


def read(status: Status) -> Reply:
    return Reply(V2, b"", Operation.READ_ENTRY, 2, status, 1, 0)


@pytest.mark.parametrize("outcome", [ConnectionClosed(), ConnectionClosed("reset"), read(EUA)], ids=str)
def test_a_gate_is_shut_by_a_refusal_or_the_end(outcome: Reply | ConnectionClosed) -> None:
    expect_shut(talk(), line(outcome))


@pytest.mark.parametrize("outcome", [Silence(10.0), read(EOK), read(ENOLEDGER)], ids=str)
def test_silence_is_no_gate(outcome: Reply | Silence) -> None:
    with pytest.raises(Mismatch):
        expect_shut(talk(), line(outcome))

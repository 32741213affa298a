"""Tokens of a bookie: those that make no sense are its fault."""

import pytest

from compat_tests.bookie.login import challenge_of, directives_of
from compat_tests.bookie.talk import Talk
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import V2
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import Site
from compat_tests.wire.replies import Reply
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.auth import SASL_PLUGIN
from protocol_specs.wire.operations import Operation
from tests.compat_tests.judge.fake_ground import made


def reply(token: bytes | None) -> Reply:
    message = None if token is None else v3_pb2.AuthMessage(auth_plugin_name=SASL_PLUGIN, payload=token)
    return Reply(V2, b"", Operation.AUTH, 2, None, message=message)


def talk() -> Talk:
    return Talk(Brief(made("BKW-AUTH-999"), V2, seed=1), Site("127.0.0.1", 1))


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

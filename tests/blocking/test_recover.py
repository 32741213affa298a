"""Recovery by a child process: the errors in its lines, and the error for ledgers without a line."""

import base64
import json
import pickle
import subprocess
from types import SimpleNamespace

import pytest

from bookkeeper_tx.blocking import recover
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookieUnavailable, NoSuchLedger, RemoteError, RequestTimedOut
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.security.sasl import SaslLogin
from bookkeeper_tx.security.tls_config import TlsConfig


@pytest.fixture
def child(monkeypatch):
    """A child that answers ``output``, or is too slow."""
    asked = SimpleNamespace(output=b"", returncode=0, stderr=b"", late=False, request=None, command=None)

    def run(command, *, input, capture_output, timeout, env):  # noqa: A002
        asked.command, asked.request = command, json.loads(input)
        if asked.late:
            raise subprocess.TimeoutExpired(command, timeout, output=asked.output)
        return SimpleNamespace(stdout=asked.output, returncode=asked.returncode, stderr=asked.stderr)

    monkeypatch.setattr(recover.subprocess, "run", run)
    return asked


def recovered(*ledger_ids):
    return recover.recover_ledgers("sqlite:///x", ledger_ids, b"secret", DigestType.CRC32C, 5.0)


def test_no_password_is_in_the_command_line(child):
    child.output = b'{"ledger": 7}\n'
    assert recovered(7) == {}
    assert pickle.loads(base64.b64decode(child.request.pop("config"))) == ClientConfig()
    assert child.request == {"uri": "sqlite:///x", "ledgers": [7], "password": "c2VjcmV0", "digest_type": "CRC32C"}
    assert not any("secret" in word or "c2VjcmV0" in word for word in child.command)


def test_the_child_is_told_how_bookies_are_spoken_to(child):
    child.output = b'{"ledger": 7}\n'
    config = ClientConfig(tls=TlsConfig(trust_path="/t.pem"), auth=SaslLogin("/jaas.conf", "BookKeeper"))
    assert recover.recover_ledgers("sqlite:///x", [7], b"", config=config) == {}
    assert pickle.loads(base64.b64decode(child.request["config"])) == config


def test_each_ledger_has_its_own_error(child):
    child.output = b'{"ledger": 1, "error": "NoSuchLedger", "text": "gone"}\n{"ledger": 2}\n' + (
        b'{"ledger": 3, "error": "BookieUnavailable", "text": "stays in recovery"}\n'
    )
    failed = recovered(1, 2, 3)
    assert {each: type(error) for each, error in failed.items()} == {1: NoSuchLedger, 3: BookieUnavailable}
    assert str(failed[3]) == "stays in recovery"


def test_those_that_a_slow_child_has_not_reached_have_timed_out(child):
    child.late, child.output = True, b'{"ledger": 1}\n{"ledger": 2, "err'
    failed = recovered(1, 2, 3)
    assert {each: type(error) for each, error in failed.items()} == dict.fromkeys((2, 3), RequestTimedOut)
    assert str(failed[2]) == "ledger 2: not recovered within 5 s"


def test_a_child_may_complain_in_any_encoding(child):
    child.returncode, child.stderr = 1, b"x" * 1999 + "ü".encode("latin-1")
    (error,) = recovered(4).values()
    assert type(error) is RemoteError


def test_a_child_that_ends_early_shows_why(child):
    child.returncode, child.stderr = 1, b"MetadataUnavailable: nobody there"
    (error,) = recovered(4).values()
    assert type(error) is RemoteError
    assert "nobody there" in str(error)

"""A bookie's side of SASL DIGEST-MD5, to be put before scripted bookies."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping

from compat_tests.client import client_requests as names
from compat_tests.client.client_requests import ClientRequest
from compat_tests.client.rules import Exchange
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.judge.case import V2
from compat_tests.wire import digest_md5
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.auth import SASL_NAME
from protocol_specs.wire.status import EUA

LastToken = Callable[[Mapping[str, str], str], bytes | None]
"""Makes the last token from the client's response and the password; None is AuthDisabledPlugin."""


def token_of(request: ClientRequest) -> bytes:
    """The token of a client's plugin in an AUTH."""
    if request.dialect == V2:
        return bytes(v3_pb2.AuthMessage.FromString(request.body).payload)
    return bytes(request.message.auth_request.payload)


def last_token(response: Mapping[str, str], password: str) -> bytes:
    """The last token of a bookie that knows the password."""
    return f"rspauth={digest_md5.proofs(response, password)[1]}".encode()


class SaslGate:
    """Challenges clients that send AUTH, and checks their responses; a case decides on requests without AUTH.

    ``last`` makes the token that answers a right response.
    """

    def __init__(self, user: str, password: str, last: LastToken = last_token) -> None:
        self._user, self._password = user, password
        self._last = last
        self._nonces: dict[str, str] = {}
        """The nonces of the connections that were challenged, by the names of these."""
        self._lock = threading.Lock()
        self.proven: list[str] = []
        """The connections whose client has proved that it knows the password."""
        self.refused: list[str] = []
        """The reasons why responses were refused."""

    def put_before(self, *bookies: ScriptedBookie) -> SaslGate:
        """Have these bookies answer AUTH by this gate."""
        for bookie in bookies:
            bookie.on(names.AUTH).do(self._act)
        return self

    def _act(self, exchange: Exchange) -> None:
        if exchange.line in self.proven:  # Java's client sends one more, empty token
            exchange.send(exchange.frame())
            return
        with self._lock:
            nonce = self._nonces.pop(exchange.line, None)
            if nonce is None:
                nonce = self._nonces[exchange.line] = secrets.token_hex(16)
                exchange.send(exchange.frame(token=digest_md5.challenge(nonce)))
                return
        try:
            response = digest_md5.parse(token_of(exchange.request))
            self._check(response, nonce)
        except ValueError as wrong:
            self._refuse(exchange, str(wrong))
            return
        self.proven.append(exchange.line)
        exchange.send(exchange.frame(token=self._last(response, self._password)))

    def _check(self, response: Mapping[str, str], nonce: str) -> None:
        proof, _ = digest_md5.proofs(response, self._password)
        wanted = {
            "username": self._user,
            "realm": SASL_NAME,
            "nonce": nonce,
            "nc": digest_md5.NONCE_COUNT,
            "digest-uri": f"{SASL_NAME}/{SASL_NAME}",
            "response": proof,
        }
        for name, value in wanted.items():
            if response.get(name) != value:
                raise ValueError(f"{name} is {response.get(name)}, not {value}")
        if response.get("qop", "auth") != "auth":
            raise ValueError(f"qop is {response['qop']}")

    def _refuse(self, exchange: Exchange, why: str) -> None:
        self.refused.append(why)
        if exchange.request.dialect != V2:
            exchange.send(exchange.frame(status=EUA, part=False))
        exchange.close()

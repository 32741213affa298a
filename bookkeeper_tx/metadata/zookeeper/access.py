"""How a client gets into a ZooKeeper with TLS and passwords, and how it learns that it is turned away.

kazoo's habits, and the remedy here:

- after a handshake of TLS that failed it tries again for ever, and only its log knows why;
- it is "connected" before it has logged in, so a login is over when a request has been answered;
- after a login that failed it never connects again, nor after an answer that it does not know.  But a server that goes
  away in the middle of a login looks as if it did not take the password, so logins are repeated; the first ones until
  each server has turned us away.
"""

import importlib.util
import logging
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

from kazoo.exceptions import SessionClosedRequireSaslError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.security import CREATOR_ALL_ACL

from bookkeeper_tx.errors import InvalidConfig, MetadataAccessDenied
from bookkeeper_tx.metadata.zookeeper.connections import Connections
from bookkeeper_tx.metadata.zookeeper.kazoo_client import CONNECTION_RETRY, not_reached
from bookkeeper_tx.metadata.zookeeper.tls_connections import TlsConnections
from bookkeeper_tx.security.client_context import client_context
from bookkeeper_tx.security.login_if_there import LoginIfThere
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.security.zookeeper_keys import in_zookeeper_keys

log = logging.getLogger("bookkeeper_tx")

_LOOK_S = 0.05
"""How often a start looks whether it was turned away."""

LOGINS_TO_REFUSE = 2
"""How many logins of a start a server has to refuse: one may be refused by a server that is on its way down."""

FIRST_LOGIN_AGAIN_S = 0.5
"""How long to wait after a login of a start that failed."""

LOGIN_AGAIN_S = 2.0
"""How long to wait after a later login that failed."""

SAY_AGAIN_AFTER_S = 60.0
"""For how long a reason why we are turned away is not logged again."""

Address = tuple[str, int]


def resolve(hosts: str) -> set[Address]:
    """Return the addresses of ``host:port,host:port``, as kazoo tries them; blocks."""
    found: set[Address] = set()
    for each in hosts.split(","):
        host, _, port = each.rpartition(":")
        try:
            answers = socket.getaddrinfo(host.strip("[]"), int(port), proto=socket.IPPROTO_TCP)
        except socket.gaierror:
            continue
        found |= {(str(address[0]), int(port)) for *_, address in answers}
    return found


class Access:
    """The way of one client to ``hosts`` (``host:port,host:port``)."""

    def __init__(
        self, hosts: str, security: MetadataSecurity | None, resolve: Callable[[str], set[Address]] = resolve
    ) -> None:
        self._hosts = hosts
        self._security = security or MetadataSecurity()
        self._resolve = resolve
        self._refused_by: Counter[Address] = Counter()
        """How many logins each server has refused during the start."""
        self._reasons: dict[str, float] = {}
        """Why we were turned away, and when it was said last."""
        self._address: Address = ("", 0)
        """The server that is tried."""
        self._username = ""
        self._client: Any = None
        self._is_open = False
        self._ended = threading.Event()
        self._lock = threading.Lock()
        """Held while kazoo is started or stopped."""

    def client_arguments(self) -> dict[str, Any]:
        """Return what KazooClient is to be made with.  Raises InvalidConfig for a login that cannot be used."""
        security = self._security = self._security.settled()
        arguments: dict[str, Any] = {"hosts": self._hosts, "connection_retry": CONNECTION_RETRY}
        if security.tls is not None:
            arguments["handler"] = TlsConnections(security.tls, self._refused, self._trying, self._died)
        else:
            arguments["handler"] = Connections(self._trying, self._died)
        if security.login is not None:
            if importlib.util.find_spec("puresasl") is None:
                raise InvalidConfig("passwords for ZooKeeper need pure-sasl: pip install 'bookkeeper_tx[sasl]'")
            assert not isinstance(security.login, LoginIfThere)  # it is settled
            self._username, password = security.login.credentials()
            arguments["sasl_options"] = {"mechanism": "DIGEST-MD5", "username": self._username, "password": password}
        if security.creator_only:
            arguments["default_acl"] = CREATOR_ALL_ACL
        return arguments

    def start(self, client: Any, timeout_s: float) -> None:
        """Connect ``client``, and log in; blocks.

        Raises MetadataAccessDenied as soon as all servers have turned us away, MetadataUnavailable when ``timeout_s``
        is over, and InvalidConfig for files of TLS that cannot be used.
        """
        self._client = client
        if self._security.tls is None and self._security.login is None:
            try:
                client.start(timeout_s)
            except KazooTimeoutError:
                raise not_reached(self._hosts, timeout_s, self._hint()) from None
            self._is_open = True
            return
        if self._security.tls is not None:
            self._check_files(self._security.tls)
        deadline = time.monotonic() + timeout_s
        client.add_listener(self._listen)
        connected = client.start_async()
        while not connected.wait(_LOOK_S):
            self._check(deadline, timeout_s)
        if self._security.login is not None:
            self._await_login(client, deadline, timeout_s)
        self._is_open = True

    @staticmethod
    def _check_files(tls: TlsConfig) -> None:
        try:
            client_context(tls)
        except InvalidConfig as error:
            raise InvalidConfig(in_zookeeper_keys(str(error))) from error

    def stop(self, client: Any) -> None:
        """Close the session, and end kazoo's threads."""
        self._ended.set()
        with self._lock:
            client.stop()
            client.close()

    def why_not(self, within_s: float) -> str:
        """Return why we were turned away in the last ``within_s`` seconds, to be put behind an error; or nothing."""
        since = time.monotonic() - within_s
        reasons = [reason for reason, said_at in self._reasons.items() if said_at >= since]
        return f": {'; '.join(reasons)}" if reasons else ""

    def _await_login(self, client: Any, deadline: float, timeout_s: float) -> None:
        while True:
            answer = client.exists_async("/")
            while not answer.ready():
                answer.wait(_LOOK_S)
                self._check(deadline, timeout_s)
            self._check(deadline, timeout_s)
            if answer.successful():
                return
            time.sleep(_LOOK_S)  # the connection was lost, and kazoo makes another

    def _check(self, deadline: float, timeout_s: float) -> None:
        """Raise the error of a start that has failed."""
        if self._refused_by and self._addresses and self._addresses <= self._all_refused():
            raise self._denied()
        if time.monotonic() > deadline:
            raise self._denied() if self._refused_by else not_reached(self._hosts, timeout_s, self._hint())

    @cached_property
    def _addresses(self) -> set[Address]:
        return self._resolve(self._hosts)

    def _all_refused(self) -> set[Address]:
        return {address for address, count in list(self._refused_by.items()) if count >= LOGINS_TO_REFUSE}

    def _hint(self) -> str:
        if self._security.login is not None:
            return "; with a login, it must have one, too: authProvider, and the section Server of its own passwords"
        if self._security.tls is not None:
            return "; with TLS, the port must be its secureClientPort"
        return "; without TLS, the port must be its clientPort"

    def _denied(self) -> MetadataAccessDenied:
        return MetadataAccessDenied(f"ZooKeeper at {self._hosts}: {'; '.join(self._reasons)}")

    # In kazoo's connection thread ---------------------------------------------------------------------------------

    def _trying(self, address: Address) -> None:
        self._address = (str(address[0]), int(address[1]))

    def _refused(self, reason: str) -> None:
        self._turned_away(f"no TLS: {in_zookeeper_keys(reason)}", LOGINS_TO_REFUSE)

    def _listen(self, state: str) -> None:
        if state == KazooState.LOST and self._client.client_state == KeeperState.AUTH_FAILED:
            self._login_failed(f"it does not accept the user {self._username!r} with this password")

    def _died(self, error: Exception) -> None:
        if not isinstance(error, SessionClosedRequireSaslError):
            self._login_failed(f"it has ended the connection by {error!r}")
        elif self._username:
            self._login_failed(f"it does not accept the user {self._username!r} with this password")
        else:
            self._login_failed("it takes only users who log in with a password")

    def _login_failed(self, reason: str) -> None:
        self._turned_away(reason, 1)
        threading.Thread(target=self._log_in_again, name="zookeeper-login", daemon=True).start()

    def _turned_away(self, reason: str, weight: int) -> None:
        now = time.monotonic()
        before = self._reasons.get(reason)
        self._reasons[reason] = now
        if not self._is_open:
            self._refused_by[self._address] += weight
        elif before is None or now - before > SAY_AGAIN_AFTER_S:
            log.warning("ZooKeeper at %s:%d turns us away, and is asked again: %s", *self._address, reason)

    def _log_in_again(self) -> None:
        if not self._ended.wait(LOGIN_AGAIN_S if self._is_open else FIRST_LOGIN_AGAIN_S):
            with self._lock:
                if not self._ended.is_set():
                    self._client.start_async()

"""How a client gets into a ZooKeeper with TLS and passwords, and how it learns that it is turned away.

kazoo's habits, and the remedy here:

- after a handshake of TLS that failed it tries again for ever, and only its log knows why;
- it is "connected" before it has logged in, so a login is over when a request has been answered;
- after a login that failed it never connects again.  That is right when it was the first one.  A later one may fail
  because the server went away in the middle, so it is repeated.
"""

import importlib.util
import threading
import time
from functools import partial
from typing import Any

from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.security import CREATOR_ALL_ACL

from bookkeeper_tx.errors import InvalidConfig, MetadataAccessDenied
from bookkeeper_tx.metadata.zookeeper.kazoo_client import CONNECTION_RETRY, not_reached
from bookkeeper_tx.metadata.zookeeper.tls_connections import TlsHandler
from bookkeeper_tx.security.client_context import client_context
from bookkeeper_tx.security.metadata_security import MetadataSecurity

_LOOK_S = 0.05
"""How often a start looks whether it was turned away."""

LOGIN_AGAIN_S = 2.0
"""How long to wait after a later login that failed."""


class Access:
    """The way of one client to ``hosts`` (``host:port,host:port``)."""

    def __init__(self, hosts: str, security: MetadataSecurity | None) -> None:
        self._hosts = hosts
        self._security = security or MetadataSecurity()
        self._refusals: list[str] = []
        """Why servers have turned us away at the start."""
        self._username = ""
        self._login_failed = threading.Event()
        self._is_open = False
        self._ended = threading.Event()
        self._lock = threading.Lock()
        """Held while kazoo is started or stopped."""

    def client_arguments(self) -> dict[str, Any]:
        """Return what KazooClient is to be made with.  Raises InvalidConfig for a login that cannot be used."""
        security = self._security
        arguments: dict[str, Any] = {"hosts": self._hosts, "connection_retry": CONNECTION_RETRY}
        if security.tls is not None:
            arguments["handler"] = TlsHandler(security.tls, self._refused)
        if security.login is not None:
            if importlib.util.find_spec("puresasl") is None:
                raise InvalidConfig("passwords for ZooKeeper need pure-sasl: pip install 'bookkeeper_tx[sasl]'")
            self._username, password = security.login.credentials()
            arguments["sasl_options"] = {"mechanism": "DIGEST-MD5", "username": self._username, "password": password}
        if security.creator_only:
            arguments["default_acl"] = CREATOR_ALL_ACL
        return arguments

    def start(self, client: Any, timeout_s: float) -> None:
        """Connect ``client``, and log in; blocks.

        Raises MetadataAccessDenied as soon as we are turned away, MetadataUnavailable when ``timeout_s`` is over, and
        InvalidConfig for files of TLS that cannot be used.
        """
        if self._security.tls is None and self._security.login is None:
            try:
                client.start(timeout_s)
            except KazooTimeoutError:
                raise not_reached(self._hosts, timeout_s) from None
            return
        if self._security.tls is not None:
            client_context(self._security.tls)
        deadline = time.monotonic() + timeout_s
        client.add_listener(partial(self._listen, client))
        connected = client.start_async()
        while not connected.wait(_LOOK_S):
            self._check(deadline, timeout_s)
        if self._security.login is not None:
            self._await_login(client, deadline, timeout_s)
        self._is_open = True

    def stop(self, client: Any) -> None:
        """Close the session, and end kazoo's threads."""
        self._ended.set()
        with self._lock:
            client.stop()
            client.close()

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
        if self._login_failed.is_set() or len(self._refusals) >= len(self._hosts.split(",")):
            raise self._denied()
        if time.monotonic() > deadline:
            raise self._denied() if self._refusals else not_reached(self._hosts, timeout_s, self._hint())

    def _hint(self) -> str:
        return "; with TLS, the port must be its secureClientPort" if self._security.tls else ""

    def _denied(self) -> MetadataAccessDenied:
        return MetadataAccessDenied(f"ZooKeeper at {self._hosts}: {'; '.join(dict.fromkeys(self._refusals))}")

    def _refused(self, reason: str) -> None:  # in kazoo's connection thread
        if not self._is_open:
            self._refusals.append(f"no TLS: {reason}")

    def _listen(self, client: Any, state: str) -> None:  # in kazoo's connection thread
        if state == KazooState.CONNECTED:
            self._refusals.clear()
        elif state == KazooState.LOST and client.client_state == KeeperState.AUTH_FAILED:
            if not self._is_open:
                self._refusals.append(f"it does not accept the user {self._username!r} with this password")
                self._login_failed.set()
            else:
                threading.Thread(target=self._log_in_again, args=(client,), name="zookeeper-login", daemon=True).start()

    def _log_in_again(self, client: Any) -> None:
        if not self._ended.wait(LOGIN_AGAIN_S):
            with self._lock:
                if not self._ended.is_set():
                    client.start_async()

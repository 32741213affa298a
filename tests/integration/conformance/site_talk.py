"""A V2 connection to a site of a conformance target, with TLS and a login if the site requires them."""

import os
import socket
import ssl

from bookkeeper_tx.security.digest_md5 import DigestClient
from compat_tests.targets.sites import Site
from compat_tests.wire import replies, v2_requests, v3_requests
from compat_tests.wire.replies import Reply
from protocol_specs import codecs
from protocol_specs.wire.auth import SASL_NAME, SASL_PLUGIN
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EIO, EOK, Status

_LENGTH = codecs.RECORD_LENGTH
_TIMEOUT_S = 60


class SiteTalk:
    """One connection to a site; a context manager."""

    def __init__(self, site: Site) -> None:
        self._socket = socket.create_connection((site.host, site.port), timeout=_TIMEOUT_S)
        if site.tls is not None:
            assert self.ask(v3_requests.start_tls()).status is EOK
            context = ssl.create_default_context(cafile=site.tls.ca)
            if site.tls.certificate is not None:
                context.load_cert_chain(site.tls.certificate, site.tls.key)
            self._socket = context.wrap_socket(self._socket, server_hostname=site.host)
        if site.credentials is not None:
            self._login(*site.credentials)

    def ask(self, frame: bytes) -> Reply:
        """Send a request and return the reply."""
        self._socket.sendall(_LENGTH.pack_fixed(len(frame)) + frame)
        reply = self._reply()
        if reply.operation == V3Operation.START_TLS and reply.status is EIO:
            return self._reply()  # Java replies so inside TLS to every client that has not logged in before
        return reply

    def add(self, ledger_id: int, entry_id: int) -> Status | None:
        """Add an entry in V2."""
        return self.ask(v2_requests.add(ledger_id, entry_id)).status

    def read(self, ledger_id: int, entry_id: int) -> Status | None:
        """Read an entry in V2."""
        return self.ask(v2_requests.read(ledger_id, entry_id)).status

    def _login(self, user: str, password: str) -> None:
        client = DigestClient(user, password, SASL_NAME, SASL_NAME, os.urandom)
        challenge = self._token(b"")
        client.check(self._token(client.respond(challenge)))

    def _token(self, token: bytes) -> bytes:
        return bytes(self.ask(v3_requests.auth(SASL_PLUGIN, token)).part.payload)

    def _reply(self) -> Reply:
        (length,) = _LENGTH.unpack_fixed(self._exactly(_LENGTH.size))
        return replies.parse(self._exactly(length))

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            chunk = self._socket.recv(count - len(data))
            assert chunk, f"closed after {len(data)} of {count} bytes"
            data += chunk
        return data

    def __enter__(self) -> "SiteTalk":
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

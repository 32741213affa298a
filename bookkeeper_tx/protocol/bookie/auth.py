"""A bookie's gate: only authentication passes until the client has authenticated (docs/protocol/authentication.md).

==================================  ======================================================
a client that is not authenticated  is answered
==================================  ======================================================
V2 AUTH, V3 AUTH                    the provider's token; when that refuses: V2 close, V3 EUA, then close
the same with another plugin name   V2 close, V3 EUA
V2 add, V2 read                     EUA
any other V2 request                close
V3 START_TLS                        as on any connection; EBADREQ once it has sent a token
any other V3 request                EUA at the top level, under the request's header
==================================  ======================================================

A later AUTH is answered as by a bookie without authentication.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from bookkeeper_tx.errors import AuthenticationFailed, ProtocolViolation
from bookkeeper_tx.protocol.bookie.requests import Answered, ConnectionBroken, ConnectionEvent
from bookkeeper_tx.security.authentication import BookieAuthProviderFactory, ConnectionPeer


class AuthRequest(Protocol):
    """A token of a client, in either protocol version."""

    @property
    def plugin_name(self) -> str: ...

    @property
    def token(self) -> bytes: ...

    @property
    def refused(self) -> bytes | None:
        """The reply to a refused token, or None: then the connection is closed without one."""

    def reply(self, plugin_name: str, token: bytes) -> bytes: ...


class ServerGate:
    """Lets nothing but authentication through until the provider is satisfied.

    ``emit`` is called with each event in the order in which it is to be sent or done; that may be later than the call
    that caused it, since a provider may answer later.
    """

    def __init__(
        self, factory: BookieAuthProviderFactory, peer: ConnectionPeer, emit: Callable[[ConnectionEvent], None]
    ) -> None:
        self._plugin_name = factory.plugin_name
        self._peer = peer
        self._emit = emit
        self._pending: AuthRequest | None = None
        self._ended = False
        self.opened = False
        """Whether the client has authenticated."""
        self.refused = False
        """Whether the client's credentials were refused."""
        self._provider = factory.new_provider(peer, self._completed)

    def process(self, request: AuthRequest) -> None:
        """Hand a client's token to the provider.

        Raises ProtocolViolation for a token that is not due, and for a V2 token of another plugin.
        """
        if self._ended:
            raise ProtocolViolation("a token came after the client was refused")
        if self._pending is not None:
            raise ProtocolViolation("a token came before the previous one was answered")
        if request.plugin_name != self._plugin_name:
            self._refuse_plugin(request)
            return
        self._pending = request
        try:
            self._provider.process(request.token, partial(self._answered, request))
        except Exception as error:
            self._refuse(request, error)

    def secured(self) -> None:
        """Tell the provider that the connection is inside TLS."""
        try:
            self._provider.secured()
        except Exception as error:
            self._completed(error)

    def close(self) -> None:
        """Tell the provider that the connection is gone; its later answers are dropped."""
        self._pending = None
        self._ended = True
        self._provider.close()

    def _refuse_plugin(self, request: AuthRequest) -> None:
        if request.refused is None:
            raise ProtocolViolation(
                f"the client authenticates with plugin {request.plugin_name!r}, this bookie with {self._plugin_name!r}"
            )
        self._emit(Answered(request.refused))

    def _answered(self, request: AuthRequest, error: Exception | None, token: bytes) -> None:
        if self._pending is not request:
            return
        self._pending = None
        if error is None:
            self._emit(Answered(request.reply(self._plugin_name, token)))
        else:
            self._refuse(request, error)

    def _refuse(self, request: AuthRequest, error: Exception) -> None:
        self._pending = None
        self._ended = self.refused = True
        self.opened = False
        if request.refused is not None:
            self._emit(Answered(request.refused))
        self._emit(ConnectionBroken(AuthenticationFailed(f"the client was refused: {error}")))

    def _completed(self, error: Exception | None) -> None:
        if error is None:
            self.opened = not self.refused
        elif self._pending is not None:
            self._answered(self._pending, error, b"")
        else:
            self.refused = True

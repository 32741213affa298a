"""The security that a bookie asks of its clients before it serves them."""

from typing import Any

from attrs import frozen
from twisted.internet.interfaces import IReactorTime

from bookkeeper_tx.security.authentication import BookieAuthProviderFactory


@frozen
class Security:
    """The authentication that a bookie asks of its clients, and the TLS that it offers them."""

    auth: BookieAuthProviderFactory | None = None
    """The plugin that they have to authenticate with."""
    tls: Any = None
    """The ``transport.tls.ServerTls`` for clients that ask for TLS."""
    clock: IReactorTime | None = None
    """Measures ``timeout_s``; needed with either."""
    timeout_s: float = 30.0
    """How long a client may take for both together."""


OPEN = Security()
"""No authentication, and no TLS."""

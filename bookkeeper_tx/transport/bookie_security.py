"""What a bookie asks of its clients before it serves them."""

from typing import Any

from attrs import frozen
from twisted.internet.interfaces import IReactorTime

from bookkeeper_tx.security.authentication import BookieAuthProviderFactory


@frozen
class Security:
    """What a bookie asks of its clients, and offers them."""

    auth: BookieAuthProviderFactory | None = None
    """The plugin that they have to authenticate with."""
    tls: Any = None
    """The ``transport.tls.ServerTls`` of those that ask for it."""
    clock: IReactorTime | None = None
    """What measures the time; needed with either."""
    timeout_s: float = 30.0
    """How long both together may take a client."""


OPEN = Security()
"""Nothing is asked, and nothing offered."""

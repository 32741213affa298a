"""What an authentication plugin is, on both sides of a connection (docs/protocol/authentication.md).

A plugin is named; client and bookie must have the same one.  For each connection its factory makes a provider, which
exchanges tokens with the provider of the other side, the client's first, for as many rounds as they need.  Providers
answer at once or later, always on the thread that called them.  ``bookkeeper_tx.security.sasl`` is one plugin.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from attrs import define

Answer: TypeAlias = Callable[[Exception | None, bytes], None]
"""Takes the token that answers the other side's, or the error that ends the exchange; called once for each token."""

Completed: TypeAlias = Callable[[Exception | None], None]
"""Told once that the other side is who it claims to be, or why it is not believed."""


@define
class ConnectionPeer:
    """Who is at the other end of a connection."""

    address: str
    """``host:port``, as the network sees it."""
    certificate: bytes | None = None
    """The certificate (DER) that the peer proved to own; None without TLS, and of a peer that showed none."""
    secure: bool = False
    """Whether the connection is inside TLS."""
    principal: str | None = None
    """The name that a provider has established."""


class BookieAuthProvider(Protocol):
    """A bookie's side of one exchange."""

    def process(self, token: bytes, answer: Answer) -> None:
        """Take a token of the client.  What it raises, or ``answer`` is given as error, refuses the client."""

    def secured(self) -> None:
        """Take note that the connection is inside TLS now; its peer has its certificate."""

    def close(self) -> None:
        """Take note that the connection is gone."""


class BookieAuthProviderFactory(Protocol):
    """A plugin as a bookie uses it."""

    @property
    def plugin_name(self) -> str:
        """What the client must name."""

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> BookieAuthProvider:
        """Return the provider of a new connection; it tells ``completed`` when the client has authenticated."""


class ClientAuthProvider(Protocol):
    """A client's side of one exchange."""

    def start(self, answer: Answer) -> None:
        """Answer with the first token, which may be empty."""

    def process(self, token: bytes, answer: Answer) -> None:
        """Take a token of the bookie.  After the last one ``completed`` is told instead of ``answer``."""

    def close(self) -> None:
        """Take note that the connection is gone."""


class ClientAuthProviderFactory(Protocol):
    """A plugin as a client uses it."""

    @property
    def plugin_name(self) -> str:
        """The name that goes with every token."""

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> ClientAuthProvider:
        """Return the provider of a new connection; it tells ``completed`` when client and bookie are done."""

"""The interfaces of an authentication plugin, on both sides of a connection (docs/protocol/authentication.md).

A plugin has a name; client and bookie must have the same plugin.  For each connection its factory makes a provider.
The client's provider sends the first token, and then the two exchange tokens for as many rounds as they need.
Providers answer at once or later, always on the thread that called them.  ``bookkeeper_tx.security.sasl`` is one
plugin.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from attrs import define

Answer: TypeAlias = Callable[[Exception | None, bytes], None]
"""Takes the token that answers the other side's, or the error that ends the exchange; called once for each token."""

Completed: TypeAlias = Callable[[Exception | None], None]
"""Called once: with None when the other side has proved its identity, or with the error of its failure."""


@define
class ConnectionPeer:
    """The peer at the other end of a connection."""

    address: str
    """``host:port``, as the network sees it."""
    certificate: bytes | None = None
    """The certificate (DER) that the peer proved to own; None without TLS, or if the peer showed none."""
    secure: bool = False
    """Whether the connection is inside TLS."""
    principal: str | None = None
    """The name that a provider has established."""


class BookieAuthProvider(Protocol):
    """A bookie's side of one exchange."""

    def process(self, token: bytes, answer: Answer) -> None:
        """Take a token of the client.  An exception from here, or an error given to ``answer``, refuses the client."""

    def secured(self) -> None:
        """Take note that the connection is inside TLS now; its peer has its certificate."""

    def close(self) -> None:
        """Take note that the connection is gone."""


class BookieAuthProviderFactory(Protocol):
    """A plugin as a bookie uses it."""

    @property
    def plugin_name(self) -> str:
        """The name that a client's tokens must carry."""

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> BookieAuthProvider:
        """Return the provider of a new connection; it calls ``completed`` when the client has authenticated."""


class ClientAuthProvider(Protocol):
    """A client's side of one exchange."""

    def start(self, answer: Answer) -> None:
        """Answer with the first token, which may be empty."""

    def process(self, token: bytes, answer: Answer) -> None:
        """Take a token of the bookie.  After the last one ``completed`` is called instead of ``answer``."""

    def close(self) -> None:
        """Take note that the connection is gone."""


class ClientAuthProviderFactory(Protocol):
    """A plugin as a client uses it."""

    @property
    def plugin_name(self) -> str:
        """The name that goes with every token."""

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> ClientAuthProvider:
        """Return the provider of a new connection; it calls ``completed`` when client and bookie are done."""

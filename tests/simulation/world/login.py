"""The login of clients: SASL DIGEST-MD5, with nonces of the seed.  All know the password, so nobody may be refused."""

from collections.abc import Callable
from random import Random
from typing import Any

from bookkeeper_tx.errors import AuthenticationFailed
from bookkeeper_tx.security.authentication import Answer, Completed, ConnectionPeer
from bookkeeper_tx.security.sasl import SaslBookie, SaslClient
from tests.simulation.world.history import Violation

USER, PASSWORD = "bookkeeper", "known to all"

Refused = Callable[[Violation], None]
"""Is told when somebody is refused."""


class Login:
    """A plugin of a bookie or of a client, which tells when the other side is refused."""

    def __init__(self, plugin: SaslBookie | SaslClient, refused: Refused) -> None:
        self.plugin_name = plugin.plugin_name
        self._plugin = plugin
        self._refused = refused

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> Any:
        provider: Any = self._plugin.new_provider(peer, completed)
        process = provider.process

        def watched(token: bytes, answer: Answer) -> None:
            try:
                process(token, answer)
            except AuthenticationFailed as error:
                self._refused(Violation(f"all know the password, and {peer.address} was refused: {error}"))
                raise

        provider.process = watched
        return provider


def of_bookie(random: Random, refused: Refused) -> Any:
    """Return the plugin of a bookie."""
    return Login(SaslBookie({USER: PASSWORD}, random=random.randbytes), refused)


def of_client(random: Random, refused: Refused) -> Any:
    """Return the plugin of a client."""
    return Login(SaslClient(USER, PASSWORD, random=random.randbytes), refused)

"""The plugin ``sasl``: DIGEST-MD5, as Java's plugin without Kerberos (docs/protocol/authentication.md).

The client's first token is empty, and the bookie answers with the challenge; then come response and proof.  Kerberos is
not built.
"""

import os
import re
from collections.abc import Mapping

from attrs import field, frozen

from bookkeeper_tx.errors import AuthenticationFailed, InvalidConfig
from bookkeeper_tx.security import jaas
from bookkeeper_tx.security.authentication import Answer, Completed, ConnectionPeer
from bookkeeper_tx.security.digest_md5 import DigestClient, DigestServer, Random
from protocol_specs.wire.auth import SASL_NAME, SASL_PLUGIN

ALLOWED_IDS = ".*bookkeeper.*"
"""Java's default for the names of the users that a bookie lets in."""


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidConfig(f"saslJaasClientAllowedIds = {pattern}: no regular expression: {error}") from None


@frozen
class SaslBookie:
    """The plugin of a bookie."""

    users: Mapping[str, str] = field(repr=False)
    """Name → password."""
    allowed_ids: re.Pattern[str] = field(default=ALLOWED_IDS, converter=_compiled)
    """Only users whose whole name it matches are let in (``saslJaasClientAllowedIds``)."""
    random: Random = field(default=os.urandom, repr=False)
    """Source of nonces."""

    plugin_name = SASL_PLUGIN

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> "SaslBookieProvider":
        return SaslBookieProvider(self, peer, completed)


class SaslBookieProvider:
    """A bookie's side of one exchange."""

    def __init__(self, plugin: SaslBookie, peer: ConnectionPeer, completed: Completed) -> None:
        self._plugin = plugin
        self._peer = peer
        self._completed = completed
        self._server: DigestServer | None = None

    def process(self, token: bytes, answer: Answer) -> None:
        """Answer the first token, whatever it is, with the challenge, and the second with the proof."""
        if self._server is None:
            self._server = DigestServer(self._plugin.users.get, SASL_NAME, SASL_NAME, SASL_NAME, self._plugin.random)
            answer(None, self._server.challenge())
            return
        proof = self._server.check(token)
        user = self._server.username
        if not self._plugin.allowed_ids.fullmatch(user):
            raise AuthenticationFailed(f"user {user} is none of those allowed (saslJaasClientAllowedIds)")
        self._peer.principal = user
        answer(None, proof)
        self._completed(None)

    def secured(self) -> None:
        """Do nothing: TLS changes nothing for SASL."""

    def close(self) -> None:
        """Nothing is held."""


@frozen
class SaslClient:
    """The plugin of a client: DIGEST-MD5 with a name and a password (docs/protocol/authentication.md)."""

    username: str
    """A user of the bookies."""
    password: str = field(repr=False)
    """It is never sent."""
    random: Random = field(default=os.urandom, repr=False)
    """Source of nonces."""

    plugin_name = SASL_PLUGIN

    def credentials(self) -> tuple[str, str]:
        """Return name and password."""
        return self.username, self.password

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> "SaslClientProvider":
        return SaslClientProvider(self, peer, completed)


@frozen
class SaslLogin:
    """The plugin of a client whose name and password stay in a file, which is read for each connection.

    So this object can be pickled, shown and logged, and the next connection uses a changed password.
    """

    path: str
    """The login configuration (``java.security.auth.login.config``)."""
    section: str
    """Its section with ``username`` and ``password`` (``saslJaasClientSectionName``)."""

    plugin_name = SASL_PLUGIN

    def credentials(self) -> tuple[str, str]:
        """Return name and password, as they are in the file now.  Raises InvalidConfig for a file without them."""
        return jaas.credentials(self.path, self.section)

    def new_provider(self, peer: ConnectionPeer, completed: Completed) -> "SaslClientProvider":
        """Return the provider of a new connection.  Raises InvalidConfig for a file that cannot be used."""
        return SaslClient(*self.credentials()).new_provider(peer, completed)


class SaslClientProvider:
    """A client's side of one exchange."""

    def __init__(self, plugin: SaslClient, peer: ConnectionPeer, completed: Completed) -> None:
        self._client = DigestClient(plugin.username, plugin.password, SASL_NAME, SASL_NAME, plugin.random)
        self._peer = peer
        self._completed = completed

    def start(self, answer: Answer) -> None:
        """Send an empty token: the bookie makes the challenge."""
        answer(None, b"")

    def process(self, token: bytes, answer: Answer) -> None:
        """Answer the challenge; complete when the bookie's proof is right."""
        if not self._client.responded:
            answer(None, self._client.respond(token))
            return
        self._client.check(token)
        self._peer.principal = SASL_NAME
        self._completed(None)

    def close(self) -> None:
        """Nothing is held."""

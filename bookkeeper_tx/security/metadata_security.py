"""How programs come to a ZooKeeper that has TLS, passwords and access lists (docs/guides/metadata-stores.md)."""

from attrs import evolve, frozen

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.login_if_there import LoginIfThere
from bookkeeper_tx.security.sasl import SaslClient, SaslLogin
from bookkeeper_tx.security.tls_config import TlsConfig


@frozen(kw_only=True)
class MetadataSecurity:
    """What a program shows ZooKeeper, what it asks of it, and who may change the nodes that it makes."""

    tls: TlsConfig | None = None
    """Speak TLS; the port must be that of ``secureClientPort``.  None: connections in clear.  The files are read for
    each connection, whatever ``refresh_interval_s`` is."""
    login: SaslClient | SaslLogin | LoginIfThere | None = None
    """Name and password, for SASL DIGEST-MD5; a file is read once, when a store is opened."""
    creator_only: bool = False
    """Whether only who is known to ZooKeeper as we are may read, change and delete the nodes that are made
    (``zkEnableSecurity``); else everybody may."""

    def __attrs_post_init__(self) -> None:
        shows_certificate = self.tls is not None and self.tls.client_authentication
        if self.creator_only and self.login is None and not shows_certificate:
            raise InvalidConfig(
                "zkEnableSecurity: ZooKeeper must know who makes the nodes that nobody else may use: "
                "give it a password (SASL), or a certificate"
            )

    def settled(self) -> "MetadataSecurity":
        """Return it with the login that its file has now, or none, in place of a :class:`.LoginIfThere`.

        Raises InvalidConfig for a file that cannot be read, and if ``creator_only`` needs the login that it lacks.
        """
        perhaps = self.login
        if not isinstance(perhaps, LoginIfThere):
            return self
        login = perhaps.found()
        try:
            return evolve(self, login=login)
        except InvalidConfig as error:
            raise InvalidConfig(f"{error}; {perhaps.path} has no section {perhaps.section}") from None

"""A cluster's certificates and passwords, and their configuration keys for Java and for ours."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import frozen

from bookkeeper_tx.security.sasl import SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig
from tests.certificates import Authority, Identity

USER, PASSWORD = "bookkeeper-reader", "secret"
JAAS_FILE = "java.security.auth.login.config"
_LOGIN = "org.apache.zookeeper.server.auth.DigestLoginModule required"


@frozen
class Secrets:
    """One authority, the identities of a bookie and of a client, and the users that may log in."""

    directory: Path
    authority: Authority
    bookie: Identity
    client: Identity
    password: str

    @classmethod
    def make(cls, directory: Path, password: str = PASSWORD) -> "Secrets":
        directory.mkdir(parents=True, exist_ok=True)
        authority = Authority(directory)
        bookie = authority.issue("bookie", encrypted=True)
        return cls(directory, authority, bookie, authority.issue("client"), password)

    def bookie_tls(self, identity: Identity | None = None, **keys: Any) -> dict[str, Any]:
        """Keys of ``bk_server.conf``, the same for Java and ours."""
        identity = identity or self.bookie
        keys = {
            "tlsProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory",
            "tlsProvider": "JDK",
            "tlsClientAuthentication": "true",
            "tlsKeyStoreType": "PEM",
            "tlsKeyStore": identity.key_path,
            "tlsCertificatePath": identity.certificate_path,
            "tlsTrustStoreType": "PEM",
            "tlsTrustStore": self.authority.path,
            **keys,
        }
        if identity.password_path is not None:
            keys["tlsKeyStorePasswordPath"] = identity.password_path
        return keys

    def java_client_tls(self, identity: Identity | None = None) -> dict[str, Any]:
        identity = identity or self.client
        keys = {
            "tlsProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory",
            "tlsProvider": "JDK",
            "tlsClientAuthentication": "true",
            "clientKeyStoreType": "PEM",
            "clientKeyStore": identity.key_path,
            "tlsCertificatePath": identity.certificate_path,
            "clientTrustStoreType": "PEM",
            "clientTrustStore": self.authority.path,
            "tlsHostnameVerificationEnabled": "true",
        }
        if identity.password_path is not None:
            keys["clientKeyStorePasswordPath"] = identity.password_path
        return keys

    @property
    def bookie_as_client(self) -> dict[str, Any]:
        """Keys of a bookie's file for what it asks of others: its own certificate, and a user."""
        keys = {
            "clientKeyStoreType": "PEM",
            "clientKeyStore": self.bookie.key_path,
            "clientTrustStoreType": "PEM",
            "clientTrustStore": self.authority.path,
            "tlsHostnameVerificationEnabled": "true",
            **self.java_client_sasl,
        }
        if self.bookie.password_path is not None:
            keys["clientKeyStorePasswordPath"] = self.bookie.password_path
        return keys

    def client_tls(self, identity: Identity | None = None, **fields: Any) -> TlsConfig:
        """The settings of our client, which shows its certificate and requires the bookie's host in the bookie's."""
        identity = identity or self.client
        fields = {
            "certificate_path": str(identity.certificate_path),
            "key_path": str(identity.key_path),
            "trust_path": str(self.authority.path),
            "client_authentication": True,
            "hostname_verification": True,
            **fields,
        }
        return TlsConfig(**fields)

    def client_only_tls(self, **fields: Any) -> TlsConfig:
        """The settings of a client without a certificate."""
        return TlsConfig(trust_path=str(self.authority.path), **fields)

    @property
    def jaas(self) -> dict[str, Any]:
        """The file of the passwords: by a system property of Java, by a key of ours."""
        path = self.directory / "jaas.conf"
        path.write_text(
            f'Bookie {{ {_LOGIN} user_{USER}="{self.password}"; }};\n'
            f'BookKeeper {{ {_LOGIN} username="{USER}" password="{self.password}"; }};\n'
            f'Wrong {{ {_LOGIN} username="{USER}" password="wrong"; }};\n'
        )
        return {JAAS_FILE: path}

    @property
    def bookie_sasl(self) -> dict[str, Any]:
        return {"bookieAuthProviderFactoryClass": "org.apache.bookkeeper.sasl.SASLBookieAuthProviderFactory"}

    @property
    def java_client_sasl(self) -> dict[str, Any]:
        return {"clientAuthProviderFactoryClass": "org.apache.bookkeeper.sasl.SASLClientProviderFactory"}

    @property
    def client_sasl(self) -> SaslClient:
        return SaslClient(USER, self.password)


def fingerprint(identity: Identity) -> str:
    """The certificate as our bookie's log names it."""
    return sha256(identity.der).hexdigest()

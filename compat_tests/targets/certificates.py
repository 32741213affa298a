"""Certificates and passwords for the sites that want them, made for one run, and the settings that name them."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path
from typing import Any

import attrs

from compat_tests.targets.sites import TlsFiles
from compat_tests.targets.unavailable import Unavailable

USER, PASSWORD = "bookkeeper-reader", "secret"

#: A system property of Java; our bookie takes it as a key of its configuration.
JAAS_PROPERTY = "java.security.auth.login.config"

SASL_SETTINGS = {"bookieAuthProviderFactoryClass": "org.apache.bookkeeper.sasl.SASLBookieAuthProviderFactory"}

_LOGIN = "org.apache.zookeeper.server.auth.DigestLoginModule required"
_HOSTS = ("127.0.0.1", "localhost")

#: Longer than any run, shorter than anybody could keep them in use.
_DAYS_VALID = 7

#: What a key may be used for.
_KEY_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


@attrs.frozen
class Secrets:
    """One authority, which both sides trust; a bookie's and a client's identity; the login of a user."""

    directory: Path

    @classmethod
    def make(cls, directory: Path) -> Secrets:
        """Write all files to ``directory``; raises :class:`Unavailable` without the cryptography package."""
        try:
            authority = _Authority(directory)
        except ImportError as error:
            raise Unavailable("no certificates: the cryptography package is not installed (extra 'tls')") from error
        authority.issue("bookie")
        authority.issue("client")
        (directory / "jaas.conf").write_text(f'Bookie {{ {_LOGIN} user_{USER}="{PASSWORD}"; }};\n', encoding="utf-8")
        return cls(directory)

    @property
    def client_files(self) -> TlsFiles:
        """The files that a client needs."""
        return TlsFiles(self.directory / "authority.pem", self.directory / "client.pem", self.directory / "client.key")

    @property
    def bookie_files(self) -> tuple[Path, Path]:
        """The certificate and the key of a bookie."""
        return self.directory / "bookie.pem", self.directory / "bookie.key"

    @property
    def jaas(self) -> dict[str, object]:
        """Where the passwords are."""
        return {JAAS_PROPERTY: self.directory / "jaas.conf"}

    @property
    def tls_settings(self) -> dict[str, object]:
        """Keys of ``bk_server.conf`` for a bookie that speaks TLS with clients whose certificate it trusts."""
        return {
            "tlsProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory",
            "tlsProvider": "JDK",
            "tlsClientAuthentication": "true",
            "tlsKeyStoreType": "PEM",
            "tlsKeyStore": self.directory / "bookie.key",
            "tlsCertificatePath": self.directory / "bookie.pem",
            "tlsTrustStoreType": "PEM",
            "tlsTrustStore": self.directory / "authority.pem",
        }


class _Authority:
    """It signs what RFC 5280 wants of certificates: clients that hold peers to that are judged as well."""

    def __init__(self, directory: Path) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        self._x509, self._hashes, self._serialization, self._ec = x509, hashes, serialization, ec
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = self._x509_name("conformance authority")
        builder = self._builder(self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        usages = {usage: usage == "key_cert_sign" for usage in _KEY_USAGES}
        builder = builder.add_extension(x509.KeyUsage(**usages), critical=True)
        self._write("authority.pem", builder.sign(self._key, hashes.SHA256()))

    def issue(self, name: str) -> None:
        """Write ``name.pem`` and ``name.key``, for server and client alike."""
        x509, usage = self._x509, self._x509.oid.ExtendedKeyUsageOID
        key = self._ec.generate_private_key(self._ec.SECP256R1())
        names = [x509.IPAddress(ipaddress.ip_address(_HOSTS[0])), x509.DNSName(_HOSTS[1])]
        builder = self._builder(self._x509_name(name), key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage.SERVER_AUTH, usage.CLIENT_AUTH]), critical=False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(authority, critical=False)
        self._write(f"{name}.pem", builder.sign(self._key, self._hashes.SHA256()))
        encoding, form = self._serialization.Encoding.PEM, self._serialization.PrivateFormat.PKCS8  # Netty's only one
        text = key.private_bytes(encoding, form, self._serialization.NoEncryption())
        (self._directory / f"{name}.key").write_bytes(text)

    def _write(self, name: str, certificate: Any) -> None:
        (self._directory / name).write_bytes(certificate.public_bytes(self._serialization.Encoding.PEM))

    def _x509_name(self, name: str) -> Any:
        return self._x509.Name([self._x509.NameAttribute(self._x509.oid.NameOID.COMMON_NAME, name)])

    def _builder(self, subject: Any, key: Any) -> Any:
        now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
        return (
            self._x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(self._x509.random_serial_number())
            .not_valid_before(now - day)  # clocks of containers and of this machine may differ
            .not_valid_after(now + _DAYS_VALID * day)
            .add_extension(self._x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )

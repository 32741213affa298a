"""Certificates made for one test run: an authority, servers, clients, expired ones, ones for other hosts."""

import datetime
import ipaddress
from pathlib import Path

from attrs import frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)
PASSWORD = b"key password"
SIGNS_CERTIFICATES = x509.KeyUsage(
    key_cert_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


@frozen
class Identity:
    """A certificate and its key, in files."""

    certificate: x509.Certificate
    certificate_path: Path
    key_path: Path
    password_path: Path | None = None

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)


class Authority:
    """Signs certificates; its own lies in :attr:`path`."""

    def __init__(self, directory: Path, name: str = "test authority") -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._builder(self._name, self._key.public_key(), NOW + 30 * DAY)
        certificate = certificate.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        certificate = certificate.add_extension(SIGNS_CERTIFICATES, critical=True)
        self.path = directory / f"{name.replace(' ', '-')}.pem"
        self.path.write_bytes(_pem(certificate.sign(self._key, hashes.SHA256())))

    def issue(
        self,
        name: str,
        hosts: tuple[str, ...] = ("127.0.0.1", "localhost"),
        *,
        expired: bool = False,
        encrypted: bool = False,
    ) -> Identity:
        """Return a new identity, of server and client alike, for ``hosts``; it replaces one of that name."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key.public_key(), NOW - DAY if expired else NOW + 30 * DAY)
        builder = builder.add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = builder.add_extension(authority, critical=False).sign(self._key, hashes.SHA256())
        paths = self._directory / f"{name}.pem", self._directory / f"{name}.key", self._directory / f"{name}.password"
        paths[0].write_bytes(_pem(certificate))
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if encrypted:
            encryption = serialization.BestAvailableEncryption(PASSWORD)
            paths[2].write_bytes(PASSWORD)
        form = serialization.PrivateFormat.PKCS8  # the only one that Netty reads
        paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, encryption))
        return Identity(certificate, paths[0], paths[1], paths[2] if encrypted else None)

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, until: datetime.datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - 10 * DAY)
            .not_valid_after(until)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)

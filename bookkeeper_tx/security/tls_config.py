"""The configuration of TLS, on either side of a connection (docs/guides/configuration.md)."""

from attrs import field, frozen
from attrs.validators import ge

from bookkeeper_tx.errors import InvalidConfig


@frozen(kw_only=True)
class TlsConfig:
    """Files and rules of TLS, for either side; all files are PEM.

    A bookie needs certificate and key, a client the certificates that it trusts.
    """

    certificate_path: str | None = None
    """The own certificate, followed by those that lead to its authority (``tlsCertificatePath``)."""
    key_path: str | None = None
    """The private key of that certificate (``tlsKeyStore``, of a client ``clientKeyStore``)."""
    key_password_path: str | None = None
    """A file with the password of the key, if it has one (``tlsKeyStorePasswordPath``)."""
    trust_path: str | None = None
    """The certificates of the authorities that may sign the other side's (``tlsTrustStore``, of a client
    ``clientTrustStore``)."""
    client_authentication: bool = False
    """Whether a bookie asks clients for their certificate, and a client shows its own (``tlsClientAuthentication``)."""
    hostname_verification: bool = False
    """Whether the bookie's certificate must name the host that the client connected to, as the bookie has registered it
    (``tlsHostnameVerificationEnabled``).  If not, any bookie with a certificate of the authority may pass for another.
    """
    refresh_interval_s: float = field(default=0.0, validator=ge(0))
    """How often, at most, the files are checked for changes, in seconds; connections made after a change use the new
    ones.  0 reads them once (``tlsCertFilesRefreshDurationSeconds``)."""
    protocols: tuple[str, ...] = ()
    """Versions to offer, of TLSv1.2 and TLSv1.3; all when empty (``tlsEnabledProtocols``)."""

    def __attrs_post_init__(self) -> None:
        unknown = set(self.protocols) - {"TLSv1.2", "TLSv1.3"}
        if unknown:
            raise InvalidConfig(f"TLS versions {', '.join(sorted(unknown))}: only TLSv1.2 and TLSv1.3 are spoken")
        if (self.certificate_path is None) != (self.key_path is None):
            raise InvalidConfig(
                "TLS needs certificate and key: tlsCertificatePath, tlsKeyStore (a client: clientKeyStore)"
            )
        if self.client_authentication and self.certificate_path is None:
            raise InvalidConfig("TLS with client authentication needs a certificate of one's own: tlsCertificatePath")
        if (self.client_authentication or self.certificate_path is None) and self.trust_path is None:
            raise InvalidConfig(
                "TLS needs trusted authorities' certificates: tlsTrustStore (a client: clientTrustStore)"
            )

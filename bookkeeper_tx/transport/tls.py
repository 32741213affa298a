"""TLS by START_TLS: contexts from PEM files, read again when these change (docs/protocol/tls.md).

This is the only module that needs pyOpenSSL, the extra ``tls``.
"""

import os
from pathlib import Path
from typing import Any

from attrs import frozen
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from bookkeeper_tx.errors import InvalidConfig, TlsFailed
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.security.tls_reasons import reason_of, refusal

try:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from OpenSSL import SSL, crypto
    from service_identity import CertificateError, VerificationError
    from service_identity.pyopenssl import verify_hostname, verify_ip_address
    from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IOpenSSLServerConnectionCreator
except ImportError as error:
    raise InvalidConfig(f"TLS needs pyOpenSSL ({error}): pip install 'bookkeeper_tx[tls]'") from error

log = Logger()

_VERSIONS = {"TLSv1.2": SSL.TLS1_2_VERSION, "TLSv1.3": SSL.TLS1_3_VERSION}
"""Oldest first; older ones are not spoken."""


class _Contexts:
    """The context of one configuration, made again when its files have changed."""

    def __init__(self, config: TlsConfig, clock: IReactorTime, server: bool) -> None:
        self._config = config
        self._clock = clock
        self._server = server
        self._files = [
            path
            for path in (config.certificate_path, config.key_path, config.key_password_path, config.trust_path)
            if path is not None
        ]
        self._changed_at = self._modified()
        self._looked_at = clock.seconds()
        self._context = _context(config, server)

    def current(self) -> Any:
        """Return the context for a new connection.  If the changed files cannot be used, the former context stays."""
        interval_s, now = self._config.refresh_interval_s, self._clock.seconds()
        if interval_s and now - self._looked_at >= interval_s:
            self._looked_at = now
            self._look()
        return self._context

    def _look(self) -> None:
        changed_at = self._modified()
        if changed_at == self._changed_at:
            return
        self._changed_at = changed_at
        try:
            self._context = _context(self._config, self._server)
        except InvalidConfig as error:
            log.error("the changed TLS files are not used, the former ones stay in force: {error}", error=error)
        else:
            log.info("new connections use the changed TLS files")

    def _modified(self) -> list[tuple[int, ...] | None]:
        return [_stamp(path) for path in self._files]


@implementer(IOpenSSLServerConnectionCreator)
class ServerTls:
    """The TLS of a bookie.  Raises InvalidConfig for a file that cannot be used; its text names the file."""

    def __init__(self, config: TlsConfig, clock: IReactorTime) -> None:
        if config.certificate_path is None:
            raise InvalidConfig("TLS of a bookie needs a certificate: tlsCertificatePath and tlsKeyStore")
        self._contexts = _Contexts(config, clock, server=True)

    def serverConnectionForTLS(self, protocol: Any) -> Any:
        return SSL.Connection(self._contexts.current(), None)


class ClientTls:
    """The TLS of a client.  Raises InvalidConfig for a file that cannot be used; its text names the file."""

    def __init__(self, config: TlsConfig, clock: IReactorTime) -> None:
        if config.trust_path is None:
            raise InvalidConfig("TLS of a client needs the certificates that it trusts: clientTrustStore")
        self._config = config
        self._contexts = _Contexts(config, clock, server=False)

    def creator(self, host: str) -> "ClientConnectionCreator":
        """Return the object that makes the TLS connection to the bookie at ``host``."""
        return ClientConnectionCreator(self._contexts, host)

    def verify(self, connection: Any, host: str) -> None:
        """Raise TlsFailed unless the certificate names ``host``, if the configuration asks for that check."""
        if not self._config.hostname_verification:
            return
        try:
            (verify_ip_address if _is_address(host) else verify_hostname)(connection, host)
        except (VerificationError, CertificateError):
            raise TlsFailed(f"the bookie's certificate is not for {host}, the host it has registered") from None


@implementer(IOpenSSLClientConnectionCreator)
@frozen
class ClientConnectionCreator:
    """Makes the TLS connection to one host."""

    _contexts: _Contexts
    _host: str

    def clientConnectionForTLS(self, protocol: Any) -> Any:
        connection = SSL.Connection(self._contexts.current(), None)
        if not _is_address(self._host):
            connection.set_tlsext_host_name(self._host.encode("idna"))
        return connection


def peer_certificate(transport: Any) -> bytes | None:
    """Return the certificate (DER) of the peer of a secured Twisted transport, if it has shown one."""
    certificate = transport.getPeerCertificate()
    return None if certificate is None else crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate)


def is_tls_error(error: BaseException | None) -> bool:
    """Tell whether a connection ended for a reason of TLS."""
    return isinstance(error, SSL.Error)


def _stamp(path: str) -> tuple[int, ...] | None:
    """Return a value that differs when the file has changed; None for a file that is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _is_address(host: str) -> bool:
    return isIPAddress(host) or isIPv6Address(host)


def _context(config: TlsConfig, server: bool) -> Any:
    context = SSL.Context(SSL.TLS_METHOD)
    offered = [version for name, version in _VERSIONS.items() if not config.protocols or name in config.protocols]
    context.set_min_proto_version(offered[0])
    context.set_max_proto_version(offered[-1])
    # No session is ever resumed: a connection lasts as long as the client.
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_options(SSL.OP_NO_TICKET | SSL.OP_NO_RENEGOTIATION)
    if config.certificate_path is not None and (server or config.client_authentication):
        _own(context, config)
    if config.client_authentication or not server:
        _load(config.trust_path, context.load_verify_locations)
        context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, _verified)
    return context


def _verified(connection: Any, certificate: Any, error: int, depth: int, ok: int) -> bool:
    if not ok:
        # OpenSSL itself would say only that verification failed.
        raise SSL.Error([("X509", "", refusal(error, depth))])
    return True


def _own(context: Any, config: TlsConfig) -> None:
    _load(config.certificate_path, context.use_certificate_chain_file)
    password = None
    if config.key_password_path is not None:
        password = _load(config.key_password_path, lambda path: Path(path).read_bytes()).strip()
    # For an encrypted key without its password OpenSSL would ask on the terminal.
    key = _load(config.key_path, lambda path: load_pem_private_key(Path(path).read_bytes(), password or None))
    _load(config.key_path, lambda _: context.use_privatekey(key))  # refuses a key that is not the certificate's,
    _load(config.key_path, lambda _: context.check_privatekey())  # but a key of another type only here


def _load(path: str | None, use: Any) -> Any:
    try:
        return use(path)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm, SSL.Error, crypto.Error) as error:
        raise InvalidConfig(f"TLS: {path} cannot be used: {reason_of(error)}") from error

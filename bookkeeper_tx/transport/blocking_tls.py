"""TLS of connections without a reactor, by Python's own ``ssl``: contexts, and sessions that do no IO.

Configuration and refusals are as in ``transport/tls.py``, which Twisted needs (docs/protocol/tls.md).
"""

import ssl
from pathlib import Path
from typing import Any

from bookkeeper_tx.errors import InvalidConfig, TlsFailed
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.transport.tls_reasons import reason_of

RECORD_SIZE = 16 * 1024
"""Bytes in clear that a record of TLS holds at most."""

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""Oldest first; older ones are not spoken."""

_WRONG_HOST = frozenset({62, 64})
"""OpenSSL's numbers for a certificate of another host, and of another address."""


def client_context(config: TlsConfig) -> ssl.SSLContext:
    """Return the context of a client's connections, from the files as they are now.

    Raises InvalidConfig for a file that cannot be used; its text names the file.
    """
    if config.trust_path is None:
        raise InvalidConfig("TLS of a client needs the certificates that it trusts: clientTrustStore")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = config.hostname_verification
    context.hostname_checks_common_name = False
    offered = [version for name, version in _VERSIONS.items() if not config.protocols or name in config.protocols]
    context.minimum_version, context.maximum_version = offered[0], offered[-1]
    # No session is ever resumed: a connection lasts as long as the client.
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    _read(config.trust_path)
    try:
        context.load_verify_locations(config.trust_path)
    except (ssl.SSLError, ValueError) as error:
        raise _unusable(config.trust_path, reason_of(error)) from error
    if config.client_authentication:
        _show_certificate(context, config)
    return context


def _show_certificate(context: ssl.SSLContext, config: TlsConfig) -> None:
    assert config.certificate_path is not None  # TlsConfig has checked both
    assert config.key_path is not None
    _read(config.certificate_path)
    _read(config.key_path)
    password = b"" if config.key_password_path is None else _read(config.key_password_path).strip()
    try:
        # Without a password argument OpenSSL would ask on the terminal for the password of an encrypted key.
        context.load_cert_chain(config.certificate_path, config.key_path, password)
    except (ssl.SSLError, ValueError) as error:
        key = f"{config.key_path} (with {config.key_password_path})" if password else config.key_path
        raise _unusable(
            f"{config.certificate_path} with {key}",
            f"{reason_of(error)}; both must be PEM, the key that of the certificate, and its password, if it has one, "
            "in the file clientKeyStorePasswordPath",
        ) from error


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise _unusable(path, f"{error.strerror}; it must be readable on every host that connects") from error


def _unusable(path: str, reason: str) -> InvalidConfig:
    return InvalidConfig(f"TLS: {path} cannot be used: {reason}")


class TlsSession:
    """A client's side of one TLS session: turns records into the bytes in them, and bytes into records."""

    def __init__(self, context: ssl.SSLContext, host: str, bookie: str) -> None:
        """``host`` is the name or address that the bookie has registered; errors call the bookie ``bookie``."""
        self._host = host
        self._bookie = bookie
        self._arriving, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            self._tls = context.wrap_bio(self._arriving, self._leaving, server_hostname=host)
        except ValueError as error:
            raise TlsFailed(f"no TLS with bookie {bookie}: {host!r} is no name of a host: {error}") from error
        self.ended = False
        """Whether the bookie has sent TLS's close_notify: nothing more comes."""

    def shake_hands(self, data: bytes = b"") -> bool:
        """Take the bookie's bytes of the handshake; return whether it is over.

        Over or not, the bytes of :meth:`leaving` are to be sent then.  Raises TlsFailed; they are to be sent all the
        same, since they give the bookie the reason.
        """
        self._arriving.write(data)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise self._failed(error) from error
        return True

    def leaving(self) -> bytes:
        """Return, once, the records that are to be sent."""
        return self._leaving.read()

    @property
    def certificate(self) -> bytes | None:
        """The bookie's certificate (DER)."""
        return self._tls.getpeercert(binary_form=True)

    def seal(self, data: bytes | memoryview) -> bytes:
        """Return the records that are to be sent: those still unsent, then those of ``data``."""
        left = memoryview(data)
        while left:
            left = left[self._tls.write(left) :]
        return self._leaving.read()

    def open(self, data: bytes) -> bytes:
        """Return the bytes in the records that ``data`` completes.  Raises TlsFailed."""
        self._arriving.write(data)
        pieces: list[bytes] = []
        try:
            while piece := self._tls.read(RECORD_SIZE):
                pieces.append(piece)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise self._failed(error) from error
        return b"".join(pieces)

    def _failed(self, error: Any) -> TlsFailed:
        if getattr(error, "verify_code", None) in _WRONG_HOST:
            return TlsFailed(
                f"the certificate of bookie {self._bookie} is not for {self._host}, the host it has registered"
            )
        return TlsFailed(f"TLS with bookie {self._bookie} failed: {reason_of(error)}")

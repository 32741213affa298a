"""The TLS context of a client's connections, by Python's own ``ssl``.

Configuration and refusals are as in ``transport/tls.py``, which Twisted needs (docs/protocol/tls.md).
"""

import ssl
from pathlib import Path

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.security.tls_reasons import reason_of

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""Oldest first; older ones are not spoken."""


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

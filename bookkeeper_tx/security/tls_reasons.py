"""Why TLS failed, in words that say where to look; OpenSSL's own words differ from release to release."""

import re
import ssl

_ALERT = re.compile(r"^\w+ alert (?P<alert>.+)$")

_ALERTS = {
    "unknown ca": "they do not trust the authority of our certificate: it must be in their trust store",
    "certificate expired": "our certificate has expired: renew it",
    "certificate revoked": "our certificate was revoked: renew it",
    "certificate required": "they want a certificate: tlsCertificatePath, with tlsClientAuthentication",
    "handshake failure": "they want a certificate (tlsCertificatePath), or other versions of TLS",
    "protocol version": "they speak other versions of TLS: tlsEnabledProtocols",
    "bad certificate": "they cannot use our certificate, or none was shown: tlsCertificatePath",
    "decrypt error": "our certificate is not from the authority that they trust under that name",
}
"""TLS alert of the other side → its meaning for us."""

_FAULTS = {
    "peer did not return a certificate": "they showed none: tlsCertificatePath, with tlsClientAuthentication, there",
    "unsupported protocol": "they speak other versions of TLS: tlsEnabledProtocols",
    "wrong version number": "what came is no TLS",
    "no shared cipher": "they speak no cipher of ours",
}
"""OpenSSL's error on our side → its meaning."""

_UNKNOWN = frozenset({2, 19, 20, 21})
"""OpenSSL's numbers for a chain of certificates that leads to none in the trust store."""

_REFUSALS = {
    7: "is from another authority than the one of that name in the trust store",
    9: "is not valid yet: look at the clocks",
    10: "has expired: renew it there",
    18: "is signed by itself, and not in the trust store",
    24: "is signed by a certificate that is no authority's",
    26: "is for another purpose (extended key usage)",
    62: "is for another host than the one that was asked for: its name must be among the certificate's",
    64: "is for another host than the one that was asked for: its address must be among the certificate's",
}
"""OpenSSL's numbers for the faults of one certificate."""


def refusal(number: int, depth: int | None) -> str:
    """Return why a certificate of the other side is refused.

    ``depth`` 0 is the other side's own, higher ones are authorities'; None if that is not known.
    """
    if number in _UNKNOWN:
        return "their certificate is from an authority that is not in the trust store, or lacks the ones in between"
    which = "their certificate" if depth == 0 else "the certificate of their authority"
    if depth is None:
        which = "their certificate, or that of their authority,"
    return f"{which} {_REFUSALS.get(number, f'is refused (X509 error {number})')}"


def reason_of(error: BaseException) -> str:
    """Return OpenSSL's words for an error of pyOpenSSL or of Python's ``ssl``, and their meaning."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return refusal(error.verify_code, None)
    if isinstance(error, ssl.SSLError) and error.reason:
        return _explained(error.reason.replace("_", " ").lower())
    if not error.args or not isinstance(error.args[0], list):
        return str(error) or type(error).__name__
    return "; ".join(_explained(words) for entry in error.args[0] if (words := str(entry[-1])))


def _explained(words: str) -> str:
    alert = _ALERT.match(words)
    means = _FAULTS.get(words) if alert is None else _ALERTS.get(alert["alert"])
    return f"{words}: {means}" if means else words

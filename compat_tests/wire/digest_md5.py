"""SASL DIGEST-MD5 (RFC 2831, "auth", md5-sess): a client's response, any value of which can be made wrong on purpose,
and the challenge and the check of a bookie."""

import re
from collections.abc import Mapping
from hashlib import md5

from protocol_specs.wire.auth import SASL_NAME

_DIRECTIVE = re.compile(r'([A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^",\s]+))\s*(?:,\s*|$)')

NONCE_COUNT = "00000001"


def parse(token: bytes) -> dict[str, str]:
    """The directives of a token, by their names.  Raises ValueError for bytes that are no list of them."""
    text, position, found = token.decode("utf-8", "replace"), 0, {}
    while position < len(text):
        match = _DIRECTIVE.match(text, position)
        if match is None:
            raise ValueError(f"no directive at {position} of {text[:100]!r}")
        name, quoted, plain = match.groups()
        found[name] = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        position = match.end()
    return found


def response(challenge: Mapping[str, str], user: str, password: str, cnonce: str, **changed: str) -> tuple[bytes, str]:
    """The answer to a challenge, and the ``rspauth`` that a bookie with the same password answers.

    :param changed: directives with other values than the right ones; the proof is computed over them
    """
    values = {
        "charset": "utf-8",
        "username": user,
        "realm": challenge.get("realm", ""),
        "nonce": challenge["nonce"],
        "nc": NONCE_COUNT,
        "cnonce": cnonce,
        "digest_uri": f"{SASL_NAME}/{SASL_NAME}",
        "qop": "auth",
        **changed,
    }
    values.setdefault("response", _proof(values, password, "AUTHENTICATE"))
    plain = ("charset", "nc", "response", "qop")
    words = [
        f"{name.replace('_', '-')}={value}" if name in plain else f'{name.replace("_", "-")}="{value}"'
        for name, value in values.items()
    ]
    return ",".join(words).encode(), _proof(values, password, "")


def challenge(nonce: str) -> bytes:
    """The token with which a bookie answers a client's first one."""
    return f'realm="{SASL_NAME}",nonce="{nonce}",qop="auth",charset=utf-8,algorithm=md5-sess'.encode()


def proofs(response: Mapping[str, str], password: str) -> tuple[str, str]:
    """The right ``response`` directive of a response, and the bookie's ``rspauth`` to it, with this password.

    Raises ValueError for a response that lacks a directive.
    """
    values = {"realm": "", "qop": "auth", **{name.replace("-", "_"): value for name, value in response.items()}}
    try:
        return _proof(values, password, "AUTHENTICATE"), _proof(values, password, "")
    except KeyError as error:
        raise ValueError(f"a response without {error}") from None


def _proof(values: Mapping[str, str], password: str, method: str) -> str:
    secret = _md5(f"{values['username']}:{values['realm']}:{password}".encode())
    acting_for = f":{values['authzid']}" if values.get("authzid") else ""  # Java's client always sends it
    a1 = _md5(secret + f":{values['nonce']}:{values['cnonce']}{acting_for}".encode()).hex()
    a2 = _md5(f"{method}:{values['digest_uri']}".encode()).hex()
    chain = (a1, values["nonce"], values["nc"], values["cnonce"], values["qop"], a2)
    return _md5(":".join(chain).encode()).hex()


def _md5(data: bytes) -> bytes:
    return md5(data, usedforsecurity=False).digest()

"""SASL DIGEST-MD5 (RFC 2831), quality of protection "auth", as the JDK speaks it on both sides.

Java bookies and clients have no other mechanism without Kerberos.  MD5 is weak, and the exchange does not protect the
bytes after it: use it inside TLS.  No maintained Python library has the server's side, so both sides are here.
"""

import re
from collections.abc import Callable, Mapping
from hashlib import md5
from hmac import compare_digest

from bookkeeper_tx.errors import AuthenticationFailed

TOKEN_SIZE_MAX = 4096
"""Longest challenge or response in bytes; the RFC allows 2048 and 4095."""

NONCE_SIZE = 24
"""Random bytes of a nonce."""

QOP = "auth"
"""Authentication alone: no integrity and no privacy of the bytes after it."""

FIRST_USE = "00000001"
"""The nonce count of a response: a nonce is used once."""

_DIRECTIVE = re.compile(r'\s*([A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))\s*(?:,|$)')

Random = Callable[[int], bytes]


def parse(token: bytes) -> dict[str, str]:
    """Return the directives of a challenge or response, by name in lower case; of several of one name, the first.

    Raises AuthenticationFailed for bytes that are no such token, and for a token that is too long.
    """
    if len(token) > TOKEN_SIZE_MAX:
        raise AuthenticationFailed(f"a DIGEST-MD5 token of {len(token)} bytes, over {TOKEN_SIZE_MAX}")
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError:
        text = token.decode("iso-8859-1")
    directives: dict[str, str] = {}
    position = 0
    while position < len(text):
        if text[position] == ",":
            position += 1
            continue
        match = _DIRECTIVE.match(text, position)
        if match is None:
            raise AuthenticationFailed("a DIGEST-MD5 token that is no list of name=value")
        name, quoted, plain = match.groups()
        value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        directives.setdefault(name.lower(), value)
        position = match.end()
    return directives


def response_value(
    directives: Mapping[str, str], username: str, password: str, digest_uri: str, *, from_server: bool = False
) -> str:
    """Return the proof of the password: the client's, or the server's over the same values.

    ``directives`` are ``realm``, ``nonce``, ``cnonce``, ``nc``, ``qop`` and, if it was sent, ``authzid``.
    """
    realm, nonce, cnonce = directives.get("realm", ""), directives["nonce"], directives["cnonce"]
    start = md5(b":".join(map(_octets, (username, realm, password))), usedforsecurity=False).digest()
    a1 = b":".join((start, nonce.encode(), cnonce.encode()))
    if directives.get("authzid"):
        a1 += b":" + directives["authzid"].encode()
    a2 = ("" if from_server else "AUTHENTICATE") + ":" + digest_uri
    parts = (_hex(a1), nonce, directives.get("nc", FIRST_USE), cnonce, directives.get("qop", QOP), _hex(a2.encode()))
    return _hex(":".join(parts).encode())


def _octets(text: str) -> bytes:
    """Encode name, realm or password: in ISO 8859-1 if possible, because the RFC hashes that encoding."""
    try:
        return text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return text.encode()


def _hex(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class DigestClient:
    """A client's side of one exchange: the challenge, the response, the server's proof."""

    def __init__(self, username: str, password: str, service: str, host: str, random: Random) -> None:
        self._username = username
        self._password = password
        self._digest_uri = f"{service}/{host}"
        self._random = random
        self._expected: str | None = None

    def respond(self, challenge: bytes) -> bytes:
        """Return the response to the server's challenge.  Raises AuthenticationFailed if none is possible."""
        offered = parse(challenge)
        if offered.get("algorithm") != "md5-sess" or not offered.get("nonce"):
            raise AuthenticationFailed("the bookie's challenge is not DIGEST-MD5")
        if QOP not in re.split(r"[\s,]+", offered.get("qop", QOP)):
            raise AuthenticationFailed(f"the bookie asks for the quality of protection {offered['qop']}, not auth")
        used = {
            "realm": offered.get("realm", ""),
            "nonce": offered["nonce"],
            "cnonce": self._random(NONCE_SIZE).hex(),
            "nc": FIRST_USE,
            "qop": QOP,
        }
        proof = response_value(used, self._username, self._password, self._digest_uri)
        self._expected = response_value(used, self._username, self._password, self._digest_uri, from_server=True)
        parts = ["charset=utf-8"] if "charset" in offered else []
        parts += [f"username={_quoted(self._username)}"]
        parts += [f"realm={_quoted(used['realm'])}"] if "realm" in offered else []
        parts += [f'nonce={_quoted(used["nonce"])},nc={FIRST_USE},cnonce="{used["cnonce"]}"']
        parts += [f'digest-uri="{self._digest_uri}",maxbuf=65536,response={proof},qop={QOP}']
        return ",".join(parts).encode("utf-8" if "charset" in offered else "iso-8859-1")

    @property
    def responded(self) -> bool:
        """Whether the response was made, so that the server's proof is next."""
        return self._expected is not None

    def check(self, proof: bytes) -> None:
        """Raise AuthenticationFailed unless the server knows the password, too."""
        if not compare_digest(parse(proof).get("rspauth", "").encode(), (self._expected or "-").encode()):
            raise AuthenticationFailed("the bookie could not prove that it knows the password")


class DigestServer:
    """A server's side of one exchange; ``password_of`` returns the password of a user."""

    def __init__(
        self, password_of: Callable[[str], str | None], service: str, host: str, realm: str, random: Random
    ) -> None:
        self._password_of = password_of
        self._digest_uri = f"{service}/{host}"
        self._realm = realm
        self._nonce = random(NONCE_SIZE).hex()
        self.username = ""
        """The user that has authenticated, once :meth:`check` has returned."""

    def challenge(self) -> bytes:
        """Return the challenge."""
        text = f'realm={_quoted(self._realm)},nonce="{self._nonce}",qop="{QOP}",charset=utf-8,algorithm=md5-sess'
        return text.encode()

    def check(self, response: bytes) -> bytes:
        """Return the server's proof for a right response.  Raises AuthenticationFailed for any other."""
        given = parse(response)
        expected = {"nonce": self._nonce, "realm": self._realm, "nc": FIRST_USE, "digest-uri": self._digest_uri}
        for name, value in expected.items():
            if given.get(name) != value:
                raise AuthenticationFailed(f"the response has {name}={given.get(name)!r}, not {value}")
        if given.get("qop", QOP) != QOP or not given.get("cnonce"):
            raise AuthenticationFailed("the response asks for a quality of protection other than auth, or lacks cnonce")
        username = given.get("username", "")
        if given.get("authzid") not in (None, "", username):
            raise AuthenticationFailed(f"{username!r} asks to act for {given['authzid']!r}, which nobody may")
        password = self._password_of(username)
        # The proof is computed for an unknown user, too, so that both refusals look alike and take the same time.
        proof = response_value(given, username, password or "", self._digest_uri)
        known = compare_digest(proof.encode(), given.get("response", "").lower().encode())
        if password is None or not known:
            raise AuthenticationFailed(f"wrong user or password ({username!r})")
        self.username = username
        server_proof = response_value(given, username, password, self._digest_uri, from_server=True)
        return f"rspauth={server_proof}".encode()

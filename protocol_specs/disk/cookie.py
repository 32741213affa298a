"""The cookie: it names the bookie that owns a directory.

It is the file ``VERSION`` in every ``current`` directory, and the same bytes in the metadata store.  A first line has
the layout version; then comes, since version 4, a message of string fields in protobuf's text format.  We write it
strictly, as Java's ``Cookie`` does: the fields in their order, one a line, bytes outside printable ASCII as octal
escapes.  We read it leniently: any order, comments, unknown fields, single quotes, adjacent strings.
"""

import re
from collections.abc import Mapping
from typing import Final

from protocol_specs.codecs import Malformed

DIRECTORY = "current"
"""The directory, below each data directory, that has the cookie, and the files of journal, entry logs and indexes."""

FILE_NAME = "VERSION"

LAYOUT_VERSION = 5
"""The version written, as Java does from 4.16 on.  Version 4 has no ``indexDirs``."""

LAYOUT_VERSION_MIN = 3
"""Version 3 is three bare lines, the first three fields.  Older layouts have their data elsewhere."""

FIELDS: Final = ("bookieHost", "journalDir", "ledgerDirs", "instanceId", "indexDirs")
"""In the order written.

``bookieHost`` is the bookie id.  ``journalDir`` is the journal directories joined by commas.  ``ledgerDirs`` and
``indexDirs`` are the number of directories, then for each a tab and its path.  All paths exactly as configured.
"""

_BARE_FIELDS: Final = FIELDS[:3]
"""Those of version 3."""

_TOKEN = re.compile(
    rb"""(?P<space>\s+|\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    rb"""|(?P<word>[\w.+-]+)|(?P<open>[{<[])|(?P<close>[]>}])|(?P<mark>[:,;])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))")
_LETTERS = {b"a": 7, b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b"v": 11}
_ESCAPED = {code: b"\\" + letter for letter, code in _LETTERS.items() if letter in b"nrtabfv"} | {
    ord(sign): b"\\" + sign.encode() for sign in "\\'\""
}


def build(layout_version: int, values: Mapping[str, str]) -> bytes:
    """Return the bytes of a cookie; fields that are missing or empty are left out."""
    lines = [b"%d" % layout_version]
    for name in FIELDS:
        if values.get(name):
            lines.append(name.encode() + b': "' + _escape(values[name].encode("utf-8", "surrogateescape")) + b'"')
    return b"\n".join(lines) + b"\n"


def parse(data: bytes) -> tuple[int, dict[str, str]]:
    """Return layout version and fields of a cookie; raises Malformed."""
    first, _, text = data.partition(b"\n")
    try:
        layout_version = int(first)
    except ValueError:
        raise Malformed("cookie", "layout version", 0, f"{first[:20]!r} is not a number") from None
    if layout_version == LAYOUT_VERSION_MIN:
        lines = text.decode("utf-8", "surrogateescape").split("\n")
        if len(lines) < len(_BARE_FIELDS):
            raise Malformed("cookie", _BARE_FIELDS[len(lines)], len(data), "version 3 has a line for it")
        return layout_version, dict(zip(_BARE_FIELDS, lines, strict=False))
    values: dict[str, bytes] = {}
    at, depth, name, is_first = 0, 0, "", False
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise Malformed("cookie", name or "text", len(first) + 1 + at, "not protobuf text format")
        at, kind = token.end(), token.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "word" and not depth:
            name, is_first = token.group().decode("ascii", "replace"), True
        elif kind == "string" and not depth and name in FIELDS:
            values[name] = (b"" if is_first else values[name]) + _unescape(token.group()[1:-1])
            is_first = False
    return layout_version, {name: value.decode("utf-8", "surrogateescape") for name, value in values.items()}


def _escape(value: bytes) -> bytes:
    return b"".join(
        _ESCAPED.get(code) or (bytes((code,)) if 0x20 <= code < 0x7F else b"\\%03o" % code) for code in value
    )


def _unescape(value: bytes) -> bytes:
    def replace(match: re.Match[bytes]) -> bytes:
        octal, hexadecimal, letter = match.groups()
        if octal:
            return bytes((int(octal, 8) & 0xFF,))
        if hexadecimal:
            return bytes((int(hexadecimal, 16),))
        return bytes((_LETTERS[letter],)) if letter in _LETTERS else bytes(letter)

    return _ESCAPE.sub(replace, value)

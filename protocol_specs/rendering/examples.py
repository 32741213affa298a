"""Golden bytes as annotated examples: one line for each field, with its bytes and their meaning."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from google.protobuf.message import Message

from protocol_specs import vectors
from protocol_specs.entry.digest import DIGESTS
from protocol_specs.rendering.layout import declaration_of
from protocol_specs.rendering.pieces import Piece, pieces_of
from protocol_specs.rendering.proto_pieces import frame_pieces, message_pieces
from protocol_specs.wire import v3_pb2

FILES = ("wire", "entry", "disk", "metadata")
BYTES_PER_LINE = 20


@cache
def _by_name() -> dict[str, dict[str, Any]]:
    return {vector["name"]: vector for name in FILES for vector in vectors.load(name)}


def example(name: str) -> str:
    """Return the example of the vector ``name``; raises KeyError if there is none."""
    vector = _by_name()[name]
    return block(vector["spec"], bytes.fromhex(vector["hex"]), name) + _provenance(vector)


def exchange(name: str) -> str:
    """Return request and reply of the captured exchange ``name``; raises KeyError if there is none."""
    vector = _by_name()[name]
    request = block(vector["request_spec"], bytes.fromhex(vector["request"]), name)
    reply = block(vector["reply_spec"], bytes.fromhex(vector["reply"]), name)
    return f"Request:\n\n{request}\nReply:\n\n{reply}{_provenance(vector)}"


def annotated(spec: str, data: str) -> str:
    """Return an example of bytes that are no vector, given in hexadecimal."""
    return block(spec, bytes.fromhex(data))


def block(spec: str, data: bytes, name: str = "") -> str:
    """Return the fenced block of ``data``; entries in it have the digest type that ``name`` ends with, if any."""
    size = next((digest.size for digest in DIGESTS if name.endswith(digest.name)), None)
    spec = spec.replace("/formats.", "/formats_pb2.")
    return f"```hex {spec}\n" + _lines(_pieces(spec, data, size)) + "```\n"


def _provenance(vector: dict[str, Any]) -> str:
    words = re.sub(r"(\d\.\d+\.\d+) (?=\d)", r"\1, ", vector["provenance"])
    return f"\n*{words[0].upper()}{words[1:]}.*\n"


def _pieces(spec: str, data: bytes, digest_size: int | None) -> Iterable[Piece]:
    if spec.startswith("wire/v3."):
        return frame_pieces(getattr(v3_pb2, spec.rpartition(".")[2]).DESCRIPTOR, data)
    declaration = declaration_of(spec)
    if isinstance(declaration, type) and issubclass(declaration, Message):
        return message_pieces(declaration.DESCRIPTOR, data)
    found = list(pieces_of(declaration, data, digest_size))
    if spec == "wire/v2.AUTH_FRAME":
        return [*found[:-1], *message_pieces(v3_pb2.AuthMessage.DESCRIPTOR, found[-1].data)]
    shown = sum(len(piece.data) for piece in found)
    return found if shown == len(data) else [*found, Piece(data[shown:], "digest")]


def _lines(pieces: Iterable[Piece]) -> str:
    rows = []
    for piece in pieces:
        for at in range(0, len(piece.data), BYTES_PER_LINE):
            rows.append(("  " * piece.depth + piece.data[at : at + BYTES_PER_LINE].hex(), "" if at else piece.words))
    width = max(len(shown) for shown, _ in rows)
    return "".join((f"{shown:<{width}}   # {words}" if words else shown) + "\n" for shown, words in rows)

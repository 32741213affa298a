"""Loads the corpus and verifies its checksums."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import frozen

from protocol_specs import codecs

FORMAT = 1
DIRECTORY = Path(__file__).parent

_LENGTH = codecs.RECORD_LENGTH


class CorpusDamaged(Exception):
    """A file of the corpus is not what it was made as; the text says which and what to do."""


@frozen
class InvalidInput:
    """One input: its streams are sent one by one, each over a new connection."""

    name: str
    dialect: str
    """``V2``, ``V3`` or ``any``."""
    about: str
    streams: tuple[bytes, ...]
    connection: str
    """How the connection goes on: ``closed``, ``open``, ``waits`` or ``any``."""
    status: str
    """The name of the status that is answered; empty if nothing is."""


def streams_of(rule: Mapping[str, Any]) -> Iterator[bytes]:
    """Give the byte strings of a rule."""
    if "hex" in rule:
        yield bytes.fromhex(rule["hex"])
    elif "each" in rule:
        yield from map(bytes.fromhex, rule["each"])
    elif "parts" in rule:
        yield b"".join(_part(part) for part in rule["parts"])
    else:
        prefixes = rule["prefixes"]
        whole = bytes.fromhex(prefixes["of"])
        first, last = prefixes["lengths"]
        for length in range(first, last + 1):
            if length not in prefixes["except"]:
                yield _LENGTH.pack_fixed(length) + whole[:length]


def checksum(streams: tuple[bytes, ...]) -> str:
    """The checksum of an input."""
    return sha256(b"".join(streams)).hexdigest()


def class_names() -> list[str]:
    """The classes of the corpus."""
    return sorted(path.stem for path in DIRECTORY.glob("*.json"))


@cache
def load(class_name: str) -> tuple[InvalidInput, ...]:
    """Return the inputs of a class.  Raises CorpusDamaged when one is not what its checksum says."""
    content = json.loads((DIRECTORY / f"{class_name}.json").read_text(encoding="utf-8"))
    if content["format"] != FORMAT:
        raise CorpusDamaged(f"corpus {class_name}: format {content['format']}, not {FORMAT}: install the suite again")
    return tuple(_input(class_name, each) for each in content["inputs"])


def _input(class_name: str, entry: Mapping[str, Any]) -> InvalidInput:
    streams = tuple(streams_of(entry["streams"]))
    if checksum(streams) != entry["sha256"] or len(streams) != entry["count"]:
        raise CorpusDamaged(f"corpus {class_name}: {entry['name']} was changed: install the suite again")
    expect = entry["expect"]
    return InvalidInput(
        entry["name"], entry["dialect"], entry["about"], streams, expect["connection"], expect.get("status", "")
    )


def _part(part: Mapping[str, Any]) -> bytes:
    if "repeat" in part:
        return bytes.fromhex(part["repeat"]) * int(part["times"])
    return bytes.fromhex(part["hex"])

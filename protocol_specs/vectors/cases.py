"""All messages of the vectors, each with its declaration."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from protocol_specs import vectors
from protocol_specs.declarations import Declaration, all_of_them

FILES = ("wire", "entry", "disk", "metadata")


class Case(NamedTuple):
    """One message: its bytes, and their values."""

    file: str
    name: str
    spec: str
    data: bytes
    fields: dict[str, Any]
    provenance: str

    def __str__(self) -> str:
        return f"{self.file}.json: {self.name}"


def all_of_file(file: str) -> Iterator[Case]:
    """Yield the messages of one file; an exchange has two."""
    for vector in vectors.load(file):
        provenance = vector.get("provenance", "")
        if "hex" in vector:
            yield Case(
                file,
                vector["name"],
                vector["spec"],
                bytes.fromhex(vector["hex"]),
                vector["fields"],
                provenance,
            )
        for side in ("request", "reply"):
            if side in vector:
                name, spec = f"{vector['name']}, {side}", vector[f"{side}_spec"]
                yield Case(file, name, spec, bytes.fromhex(vector[side]), vector[f"{side}_fields"], provenance)


def all_cases() -> list[Case]:
    """Return the messages of all files."""
    return [case for file in FILES for case in all_of_file(file)]


def by_name() -> dict[str, Declaration]:
    """Return all declarations by name."""
    return {each.name: each for each in all_of_them()}

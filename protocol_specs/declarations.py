"""All declarations by name.  Each must have a vector, and ``bktx wire spec`` shows it."""

import ast
import pkgutil
import re
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

import construct
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from protocol_specs.disk import bookie_status, cookie
from protocol_specs.disk import formats_pb2 as disk_formats_pb2
from protocol_specs.metadata import formats_pb2
from protocol_specs.wire import v3_pb2

ROOMS = ("wire", "entry", "disk", "metadata")

MESSAGES = {"wire/v3": v3_pb2, "metadata/formats": formats_pb2, "disk/formats": disk_formats_pb2}
"""The protobuf files, under the names that they have in vectors."""


_MARKUP = re.compile(r"(?::\w+:)?`+~?([^`]*)`+")
"""Marks of reStructuredText around names."""


class Declaration(NamedTuple):
    """One declaration."""

    name: str
    """Its file and its name there, as in ``wire/v2.READ_REQUEST_FRAME`` and ``wire/v3.ReadRequest``."""
    value: Any
    """A construct, the class of a protobuf message, or the names of the fields of a text."""
    sentence: str
    """A description in a line; empty where the name says it all."""

    @property
    def is_message(self) -> bool:
        """Whether it is a protobuf message."""
        return isinstance(self.value, type) and issubclass(self.value, Message)


@cache
def all_of_them() -> list[Declaration]:
    """Return all declarations, in the order of their files."""
    found: list[Declaration] = []
    for room in ROOMS:
        package = import_module(f"protocol_specs.{room}")
        for module in pkgutil.iter_modules(package.__path__):
            if not module.ispkg and not module.name.endswith("_pb2"):
                found += _constructs(f"{room}/{module.name}")
    found.append(Declaration("disk/cookie", cookie.FIELDS, "The cookie: the owner of a directory, as lines of text"))
    status = "Whether a bookie was read-only, as a line of text"
    found.append(Declaration("disk/bookie_status", bookie_status.FIELDS, status))
    for file, module_of_messages in MESSAGES.items():
        found += _messages(file, module_of_messages)
    return found


def _constructs(path: str) -> list[Declaration]:
    module = import_module("protocol_specs." + path.replace("/", "."))
    sentences = _sentences(path)
    return [
        Declaration(f"{path}.{name}", value, sentences.get(name, ""))
        for name, value in vars(module).items()
        if name in sentences and isinstance(value, construct.Construct) and not isinstance(value, construct.Renamed)
    ]


def _messages(file: str, module: Any) -> list[Declaration]:
    found = []
    for descriptor in module.DESCRIPTOR.message_types_by_name.values():
        for each in (descriptor, *descriptor.nested_types):
            name = each.full_name.removeprefix(each.file.package + ".")
            if not each.GetOptions().map_entry:
                found.append(Declaration(f"{file}.{name}", GetMessageClass(each), ""))
    return found


def _sentences(path: str) -> dict[str, str]:
    """Return the first sentence of the text below each name that a module assigns in capitals."""
    source = files("protocol_specs").joinpath(f"{path}.py").read_text(encoding="utf-8")
    body = ast.parse(source).body
    found = {}
    for statement, below in zip(body, [*body[1:], None], strict=True):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name = statement.targets[0].id
        if name.isupper():
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            text = str(below.value.value) if is_text else ""  # type: ignore[union-attr]
            sentence = " ".join(text.partition("\n\n")[0].split()).split(". ")[0].rstrip(".")
            found[name] = _MARKUP.sub(r"\1", sentence)
    return found

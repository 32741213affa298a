"""Makes the generated parts of the reference from the declarations: ``python -m protocol_specs.document [--check]``.

A page under ``docs/`` marks such a part with two comments::

    <!-- spec fields wire/v2.READ_REQUEST_FRAME -->
    <!-- end -->

The text between them is made from the declaration, vector or table that the first comment names.  The pictures are
files under ``docs/diagrams``.  The text of a message flow is written by hand, in a ``.flow`` file beside its picture.
"""

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from protocol_specs.rendering import answers, byte_diagram, command, digests, examples, lanes, proto, tables
from protocol_specs.rendering.layout import declaration_of
from protocol_specs.states import MACHINES

DIAGRAMS = Path("docs/diagrams")
OPENING = re.compile(r"^<!-- spec (?P<kind>[\w-]+)(?: (?P<name>[^\n]+?))? -->\n", re.M)
CLOSING = re.compile(r"^<!-- end -->$", re.M)
PART = re.compile(rf"({OPENING.pattern})(?P<made>.*?)({CLOSING.pattern})", re.M | re.S)


class UnknownPart(ValueError):
    """A page asks for something that cannot be made."""


def fresh(root: Path) -> dict[Path, str]:
    """Return all pages with generated parts, and all pictures, as they should be; raises :class:`UnknownPart`."""
    found: dict[Path, str] = {}
    for page in sorted((root / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        parts = len(PART.findall(text))
        if {len(OPENING.findall(text)), len(CLOSING.findall(text))} != {parts}:
            raise UnknownPart(f"{page.relative_to(root)}: a generated part has no end, or an end has no beginning")
        if parts:
            found[page] = PART.sub(partial(_made, root, page, found), text)
    return found


def stale(root: Path) -> list[str]:
    """Return what differs from the declarations: paths under ``root``, each with the reason."""
    wrong = []
    expected = fresh(root)
    for path, text in expected.items():
        if not path.is_file():
            wrong.append(f"{path.relative_to(root)} is missing")
        elif path.read_text(encoding="utf-8") != text:
            wrong.append(f"{path.relative_to(root)} is not what its declarations say")
    for path in sorted((root / DIAGRAMS).glob("*")):
        flow = path.with_suffix(".svg") if path.suffix == ".flow" else path
        if flow not in expected:
            wrong.append(f"{path.relative_to(root)} is on no page")
    return wrong


def write(root: Path) -> list[Path]:
    """Bring everything up to date; return what was written."""
    written = []
    for path, text in fresh(root).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written


def _made(root: Path, page: Path, found: dict[Path, str], part: re.Match[str]) -> str:
    kind, name = part["kind"], part["name"] or ""
    try:
        body = _picture(root, page, kind, name, found) if kind in _PICTURES else _TEXTS[kind](name)
    except (KeyError, AttributeError, ImportError, OSError, lanes.Unreadable) as error:
        raise UnknownPart(f"{page.relative_to(root)}: {kind} {name}: {error}") from error
    return f"{part[1]}\n{body.rstrip()}\n\n{part[5]}"


_TEXTS: dict[str, Callable[[str], str]] = {
    "fields": lambda name: tables.fields(declaration_of(name)),
    "numbers": lambda name: tables.numbers(declaration_of(name)),
    "message": lambda name: proto.message(declaration_of(name)),
    "v3-operations": lambda name: tables.v3_operations(),
    "example": examples.example,
    "exchange": examples.exchange,
    "annotated": lambda name: examples.annotated(*name.split(" ", 1)),
    "digests": lambda name: digests.digests(),
    "digest-values": lambda name: digests.digest_values(),
    "transitions": lambda name: tables.transitions(MACHINES[name]),
    "answers": answers.answers,
    "answers-of": answers.column,
    "answers-when-fenced": lambda name: answers.fenced(),
}
"""By kind of part: the function that makes it from the name after the kind."""

_PICTURES = ("diagram", "states", "flow")


def _picture(root: Path, page: Path, kind: str, name: str, found: dict[Path, str]) -> str:
    """Make the picture and return the link to it."""
    if kind == "diagram":
        stem, title = name.replace("/", "-").replace(".", "-").replace("_", "-").lower(), f"bytes of {name}"
        image = byte_diagram.draw(name, declaration_of(name))
    elif kind == "states":
        machine = MACHINES[name]
        stem, title = f"states-{name}", machine.title
        rows = [lanes.Lane(row.state, row.next, row.event) for row in machine.transitions]
        image = lanes.draw(title, machine.states, rows, boxed=True)
    else:
        stem = name
        title, columns, steps = lanes.read((root / DIAGRAMS / f"{name}.flow").read_text(encoding="utf-8"))
        image = lanes.draw(title, columns, steps)
    path = root / DIAGRAMS / f"{stem}.svg"
    found[path] = image
    up = "../" * (len(page.relative_to(root / "docs").parts) - 1)
    return f"![{title}]({up}diagrams/{stem}.svg)"


def main(arguments: list[str]) -> int:
    """Write the generated parts, or with ``--check`` say which are stale; return the exit code."""
    root = Path(__file__).parent.parent
    return command.run("protocol_specs.document", root, arguments, stale=stale, write=write)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

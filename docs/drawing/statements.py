"""The tables of what the documents say, and of what is here: made of ``tests/docs/statements.toml``."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

DATA: Final = "tests/docs/statements.toml"
PAGE: Final = "docs/protocol/statements.md"
ERRATA: Final = "docs/protocol/errata.md"

STATES: Final = {
    "works": "works",
    "differs": "differs, see errata",
    "absent": "not here",
    "background": "asks nothing",
}
"""State of a statement → what the page says of it."""


def load(root: Path) -> list[dict[str, Any]]:
    """Return all statements, in the order of their numbers."""
    found: list[dict[str, Any]] = tomllib.loads((root / DATA).read_text(encoding="utf-8"))["statement"]
    return found


def statements(root: Path, document: str) -> str:
    """Return the table of one document: a row for each statement."""
    rows = [_row(root, each) for each in load(root) if each["document"] == document]
    return "\n".join(["| | the document says | here | code | tests |", "|--:|---|---|---|---|", *rows]) + "\n"


def counts(root: Path, documents: str) -> str:
    """Return the table of how many statements of each document are in each state."""
    known = load(root)
    lines = [f"| | {' | '.join(STATES.values())} | all |", "|---|" + "--:|" * (len(STATES) + 1)]
    for document in documents.split():
        heading = _headings(root / PAGE)[f"sec-statements-{document}"]
        found = Counter(each["state"] for each in known if each["document"] == document)
        lines.append(_counted(f"[{heading}](#{_anchor(heading)})", found))
    lines.append(_counted("all", Counter(each["state"] for each in known)))
    return "\n".join(lines) + "\n"


def _counted(title: str, found: Mapping[str, int]) -> str:
    numbers = [*(found.get(state, 0) for state in STATES), sum(found.values())]
    return f"| {title} | {' | '.join(map(str, numbers))} |"


def _row(root: Path, statement: Mapping[str, Any]) -> str:
    cells = [str(statement["number"]), statement["says"], _here(root, statement)]
    cells += [" ".join(f"`{each}`" for each in statement.get(kind, ())) for kind in ("code", "tests")]
    return "| " + " | ".join(cells) + " |"


def _here(root: Path, statement: Mapping[str, Any]) -> str:
    words = STATES[statement["state"]]
    if "errata" in statement:
        section, _ = statement["errata"]
        link = f"[errata](errata.md#{_anchor(_headings(root / ERRATA)[section])})"
        words = words.replace("errata", link) if "errata" in words else f"{words} ({link})"
    return f"{words}; {statement['note']}" if "note" in statement else words


@cache
def _headings(page: Path) -> dict[str, str]:
    """Return the heading of each section of a page that has a name."""
    return dict(re.findall(r"^\((sec-[a-z0-9-]+)\)=\n#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")

"""Writes the tables of options in the guides to Spark: ``python -m bookkeeper_tx.spark.document [--check]``.

A page (``docs/guides/spark*.md``) marks a table with two comments, the first of which names the uses of its options::

    <!-- options READ STREAM -->
    <!-- end of options -->
"""

import re
import sys
from pathlib import Path
from typing import Any

from attrs import Attribute, fields

from bookkeeper_tx.spark.options.option import NOWHERE, Use, option_name, option_of
from bookkeeper_tx.spark.options.options import Options
from protocol_specs.rendering import command

PAGES = "docs/guides/spark*.md"
PART = re.compile(r"(^<!-- options (?P<uses>[A-Z_ ]+) -->\n)(.*?)(^<!-- end of options -->$)", re.M | re.S)

_USED = {
    "read": Use.READ,
    "stream": Use.STREAM,
    "write": Use.WRITE,
    "stream write": Use.STREAM_WRITE,
    "ledgers": Use.LEDGERS,
    "bookies": Use.BOOKIES,
    "replicas": Use.REPLICAS,
    "orphans": Use.ORPHANS,
    "entry logs": Use.ENTRYLOG,
}


def table(uses: Use) -> str:
    """Return the table of the options that do something in one of ``uses``."""
    several = uses not in _USED.values()
    lines = [f"| option | value | default |{' for |' if several else ''} what it does |"]
    lines.append("|---|---|---|" + ("---|" if several else "") + "---|")
    for attribute in fields(Options):
        option = option_of(attribute)
        if not option.uses & uses:
            continue
        name = option_name(attribute) + ("<key>" if option.prefix else "")
        alias = f" (or `{option.alias}`)" if option.alias else ""
        cells = [f"`{name}`{alias}", option.kind.form, _default(attribute)]
        if several:
            cells.append(_uses(option.uses & uses, uses))
        lines.append("| " + " | ".join([*cells, option.text]) + " |")
    return "\n".join(lines) + "\n"


def _default(attribute: "Attribute[Any]") -> str:
    option = option_of(attribute)
    if option.default is not None:
        return option.default
    if option.prefix or attribute.default is None:
        return ""
    value = attribute.default
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _uses(found: Use, asked: Use) -> str:
    return "all" if found == asked else ", ".join(name for name, use in _USED.items() if use & found)


def fresh(root: Path) -> dict[Path, str]:
    """Return the pages as they ought to be."""
    return {page: PART.sub(_made, page.read_text(encoding="utf-8")) for page in sorted(root.glob(PAGES))}


def _made(part: re.Match[str]) -> str:
    uses = NOWHERE
    for name in part["uses"].split():
        uses |= Use[name]
    return f"{part[1]}\n{table(uses)}\n{part[4]}"


def stale(root: Path) -> list[str]:
    """Return a line for each page that differs from the code."""
    return [
        f"{page.relative_to(root)} is not what bookkeeper_tx/spark/options/options.py says"
        for page, text in fresh(root).items()
        if page.read_text(encoding="utf-8") != text
    ]


def write(root: Path) -> list[Path]:
    """Bring the pages up to date; return the pages that were written."""
    written = []
    for page, text in fresh(root).items():
        if page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
            written.append(page)
    return written


def main(arguments: list[str]) -> int:
    """Write the tables, or with ``--check`` say whether they are stale; return the exit code."""
    root = Path(__file__).parent.parent.parent
    return command.run("bookkeeper_tx.spark.document", root, arguments, stale=stale, write=write)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

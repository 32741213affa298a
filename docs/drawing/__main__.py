"""Writes the pictures and the tables of rooms, files and figures, or with ``--check`` says which are stale.

A page marks a table of rooms, the tables of all files, tables of measured figures or of statements with two comments::

    <!-- rooms bookkeeper_tx -->
    <!-- end of rooms -->

``files`` takes a package, too; ``faces``, ``loads``, ``ratios`` and ``storages`` take names of files of figures;
``statements`` and ``counts`` take documents of which ``tests/docs/statements.toml`` has the statements.
"""

import re
import sys
from pathlib import Path

from docs.drawing import figures, house, parts, statements
from protocol_specs.rendering import command

PAGES = ("docs/architecture.md", "docs/files.md", "docs/guides/performance.md", "docs/protocol/statements.md")
TABLES = {
    "rooms": house.table,
    "files": house.files,
    "faces": figures.faces,
    "loads": figures.loads,
    "ratios": figures.ratios,
    "storages": figures.storages,
    "statements": statements.statements,
    "counts": statements.counts,
}
PART = re.compile(
    rf"(^<!-- (?P<what>{'|'.join(TABLES)}) (?P<names>[\w -]+?) -->\n)(.*?)(^<!-- end of (?P=what) -->$)", re.M | re.S
)


def fresh(root: Path) -> dict[Path, str]:
    """Return the pictures and the pages as they ought to be."""
    pictures = {root / "docs/drawing/house.svg": house.picture(root), root / "docs/drawing/parts.svg": parts.picture()}
    pages = {
        page: PART.sub(
            lambda part: f"{part[1]}\n{TABLES[part['what']](root, part['names'])}\n{part[5]}",
            page.read_text(encoding="utf-8"),
        )
        for page in map(root.joinpath, PAGES)
    }
    return pictures | pages


def stale(root: Path) -> list[str]:
    """Return what differs from the code."""
    return [
        f"{path.relative_to(root)} is not what the code says"
        for path, text in fresh(root).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def write(root: Path) -> list[Path]:
    """Bring them up to date; return what was written."""
    written = []
    for path, text in fresh(root).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written


def main(arguments: list[str]) -> int:
    """Write them, or with ``--check`` say which are stale; return the exit code."""
    root = Path(__file__).parent.parent.parent
    return command.run("docs.drawing", root, arguments, stale=stale, write=write)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

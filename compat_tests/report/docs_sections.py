"""The sections with labels in the pages of the reference."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from compat_tests.report.sections import Section

_LABEL = re.compile(r"^\((sec-[a-z0-9-]+)\)=$")
_HEADING = re.compile(r"^#+ (.+)$")


def sections_of(docs: Path) -> list[Section]:
    """Return the sections of all pages, page by page in the order of the index."""
    pages = sorted(docs.rglob("*.md"), key=_order((docs / "index.md").read_text(encoding="utf-8"), docs))
    return [section for page in pages for section in _of_page(page, docs)]


def _order(index: str, docs: Path) -> Callable[[Path], tuple[int, str]]:
    def place(page: Path) -> tuple[int, str]:
        name = page.relative_to(docs).with_suffix("").as_posix()
        found = re.search(rf"^{re.escape(name)}$", index, re.M)
        return (found.start() if found else len(index), name)

    return place


def _of_page(page: Path, docs: Path) -> Iterator[Section]:
    name, page_title, labels = page.relative_to(docs).with_suffix("").as_posix(), "", list[str]()
    for line in page.read_text(encoding="utf-8").splitlines():
        if label := _LABEL.match(line):
            labels.append(label[1])
        elif heading := _HEADING.match(line):
            title = heading[1].replace("`", "")
            page_title = page_title or title
            yield from (Section(label, name, page_title, title) for label in labels)
            labels.clear()

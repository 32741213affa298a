"""The sections of the reference that cases are of: their titles, and where they stand on the web."""

import json
from functools import cache
from importlib import resources

from attrs import frozen

FILE = "sections.json"
"""Made of the pages by ``python -m compat_tests.report.pages``, since an installed suite comes without them."""


@frozen
class Section:
    """A section with a name that stays."""

    label: str
    page: str
    """As ``protocol/add-entry``."""
    page_title: str
    title: str

    def link(self, docs_url: str) -> str:
        """Return where it stands under ``docs_url``; nothing if that is not known."""
        return f"{docs_url.rstrip('/')}/{self.page}.html#{self.label}" if docs_url and self.page else ""

    @property
    def text(self) -> str:
        """Its title with that of its page, if that is another."""
        return self.title if self.title == self.page_title else f"{self.page_title}: {self.title}"


@cache
def sections() -> dict[str, Section]:
    """Return all of them, in the order of the reference."""
    text = (resources.files(__package__) / FILE).read_text(encoding="utf-8")
    return {label: Section(label, **found) for label, found in json.loads(text).items()}


def section(label: str) -> Section:
    """Return a section; one that is not known has its label for a title."""
    return sections().get(label) or Section(label, "", label, label)

"""What Sphinx makes of docstrings: links of the pages that they cite, and the defaults of configuration fields."""

import re
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from sphinx.application import Sphinx

CITATION = re.compile(r"\bdocs/(?P<page>[\w/-]+)\.md(?:#(?P<section>sec-[a-z0-9-]+))?")

SIZES = {2**30: "GiB", 2**20: "MiB"}


def link_citations(app: "Sphinx", what: str, name: str, target: Any, options: Any, lines: list[str]) -> None:
    """Make links of the pages, and the sections of pages, that a docstring names by path."""
    lines[:] = [CITATION.sub(_link, line) for line in lines]


def add_default(app: "Sphinx", what: str, name: str, target: Any, options: Any, lines: list[str]) -> None:
    """Say of a field of an attrs class which value it has if none is given."""
    if what != "attribute":
        return
    module, owner, field = name.rsplit(".", 2)
    if not owner.endswith("Config"):
        return
    default = getattr(attrs.fields(getattr(import_module(module), owner)), field).default
    at = max((index for index, line in enumerate(lines) if line), default=None)
    if at is None:
        return
    lines[at] += "  Required." if default is attrs.NOTHING else f"  Default: {shown(default)}."


def shown(default: Any) -> str:
    """Return a default as the page shows it: sizes with their unit too."""
    if isinstance(default, Enum):
        return f"``{default.value!r}``"
    for size, unit in SIZES.items():
        if type(default) is int and default and default % size == 0:
            return f"``{default}``, which is {default // size} {unit}"
    return f"``{default!r}``"


def _link(cited: re.Match[str]) -> str:
    page = f":doc:`/{cited['page']}`"
    return f"{page} (:ref:`{cited['section']}`)" if cited["section"] else page


def setup(app: "Sphinx") -> dict[str, bool]:
    """Connect both."""
    app.connect("autodoc-process-docstring", link_citations)
    app.connect("autodoc-process-docstring", add_default)
    return {"parallel_read_safe": True}

"""The rooms of the house: which there are, what each is for, and which imports which.

The picture is drawn from the imports, the tables are made of the first sentence of each docstring.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import grimp

from docs.drawing.layers import Spot, lay_out
from protocol_specs.rendering import svg

HOUSE = "bookkeeper_tx"
OUTSIDE = ("protocol_specs", "compat_tests")

MARGIN, GAP, BETWEEN = 16.0, 26.0, 44.0
NAME_HEIGHT, LINE_HEIGHT, PADDING = 26.0, 15.0, 12.0
WORDS_MAX = 29
"""Letters of a line of inner rooms."""

ROOM, GROUND = "#d9e8ff", "#f6e7c8"


@cache
def imports() -> dict[str, set[str]]:
    """Return the rooms, and the loose files of the house, each with those that it imports."""
    modules = grimp.build_graph(HOUSE, *OUTSIDE, cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in sorted(modules.modules):
        if (here := _room(module)) is None:
            continue
        found.setdefault(here, set())
        for imported in modules.find_modules_directly_imported_by(module):
            if (there := _room(imported)) not in (None, here):
                found[here].add(there)
    return found


def _room(module: str) -> str | None:
    """Return the room of a module; None for the front door, which only names what is public."""
    package, *rest = module.split(".")
    if package in OUTSIDE:
        return package
    return rest[0] if rest else None


# The picture ---------------------------------------------------------------------------------------------------------


def picture(root: Path) -> str:
    """Return the picture of all rooms, as SVG."""
    graph = imports()
    lines = {room: _wrapped(inner(root, room)) for room in graph}
    widths = {room: _width(room, lines[room]) for room in graph}
    layout = lay_out(graph, widths, GAP)
    spots = [(layout.centres[spot], 0 if spot.passing else widths[spot.name] / 2) for spot in chain(*layout.layers)]
    left = min(centre - half for centre, half in spots)
    right = max(centre + half for centre, half in spots)
    heights = [max(_height(lines[spot.name]) for spot in row if not spot.passing) for row in layout.layers]
    tops = _tops(heights)
    x_of = {spot: round(centre - left + MARGIN, 1) for spot, centre in layout.centres.items()}
    parts = [_arrow(start, end, x_of, tops, heights, lines) for start, end in layout.arrows]
    for row in layout.layers:
        for spot in row:
            if not spot.passing:
                parts += _box(spot.name, x_of[spot], tops[spot.layer], widths[spot.name], lines[spot.name])
    return svg.picture(
        right - left + 2 * MARGIN, tops[0] + heights[0] + MARGIN, "The rooms and what they import", parts
    )


def inner(root: Path, room: str) -> list[str]:
    """Return the names of the rooms inside a room."""
    place = root / room if room in OUTSIDE else root / HOUSE / room
    return sorted(each.parent.name for each in place.glob("*/__init__.py"))


def _wrapped(names: list[str]) -> list[str]:
    lines: list[str] = []
    for name in names:
        if lines and len(lines[-1]) + 3 + len(name) <= WORDS_MAX:
            lines[-1] += f" · {name}"
        else:
            lines.append(name)
    return lines


def _width(room: str, lines: list[str]) -> float:
    return 2 * PADDING + max([8.6 * len(room), *(6.6 * len(line) for line in lines)])


def _height(lines: list[str]) -> float:
    return NAME_HEIGHT + (LINE_HEIGHT * len(lines) + 4 if lines else 0)


def _tops(heights: list[float]) -> list[float]:
    """Return where each layer begins, counted from the lowest, which stands at the bottom."""
    tops: list[float] = []
    at = MARGIN
    for height in reversed(heights):
        tops.append(at)
        at += height + BETWEEN
    return tops[::-1]


def _box(room: str, x: float, top: float, width: float, lines: list[str]) -> list[str]:
    fill = GROUND if room in OUTSIDE else ROOM
    parts = [svg.box(round(x - width / 2, 1), top, width, _height(lines), fill, 4), svg.text(x, top + 18, room, 14)]
    parts += [svg.text(x, top + 34 + LINE_HEIGHT * index, line, 11) for index, line in enumerate(lines)]
    return parts


def _arrow(
    start: Spot,
    end: Spot,
    x_of: dict[Spot, float],
    tops: list[float],
    heights: list[float],
    lines: dict[str, list[str]],
) -> str:
    x1, x2 = x_of[start], x_of[end]
    y1 = tops[start.layer] + (heights[start.layer] if start.passing else _height(lines[start.name]))
    y2 = tops[end.layer]
    bend = (y2 - tops[start.layer] - heights[start.layer]) / 2
    low = tops[start.layer] + heights[start.layer]
    steps = f"M{x1:g} {y1:g} L{x1:g} {low:g} C{x1:g} {low + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"
    if end.passing:
        steps += f" L{x2:g} {y2 + heights[end.layer]:g}"
    return svg.path(steps, head=not end.passing)


# The tables ----------------------------------------------------------------------------------------------------------


def table(root: Path, package: str) -> str:
    """Return the rooms of a package, and its loose files, each with the first sentence of its docstring."""
    rows = [f"| `{name}` | {_sentence(source)} |" for name, source in _rooms(root / package)]
    return "\n".join([f"| {package} | |", "|---|---|", *rows]) + "\n"


def files(root: Path, package: str) -> str:
    """Return a table of each room of a package: every file, with the first sentence of its docstring."""
    tables = [_files_of(root, room.parent) for room in sorted((root / package).rglob("__init__.py"))]
    return "\n".join(each for each in tables if each)


def _files_of(root: Path, room: Path) -> str:
    rows = [f"| `{file.name}` | {_sentence(file)} |" for file in sorted(room.glob("*.py")) if file.stem != "__init__"]
    heading = f"### {room.relative_to(root)}"
    return "\n".join([heading, "", "| | |", "|---|---|", *rows, ""]) if rows else ""


def _rooms(package: Path) -> Iterator[tuple[str, Path]]:
    for door in sorted(package.rglob("__init__.py")):
        if door.parent != package:
            yield f"{door.parent.relative_to(package)}/", door
    for file in sorted(package.glob("*.py")):
        if not file.stem.startswith("__"):
            yield file.name, file


def _sentence(source: Path) -> str:
    words = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    first = re.split(r"(?<=[.])\s", " ".join(words.split()))[0]
    return re.sub(r" \(docs/[\w/.-]+\)", "", first).replace("``", "`").rstrip(".")

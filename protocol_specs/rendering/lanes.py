"""Columns and the arrows between them, top to bottom: a message flow, or the transitions of a state machine.

A flow is written as text.  The first line is the title, the second names the columns, separated by commas; then come
``A -> B: words`` (solid), ``A --> B: words`` (dashed: it may be lost, or a clock starts it), ``A: words`` (an event at
A) and ``= words`` (a heading across all columns).
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from protocol_specs.rendering import svg

COLUMN_MIN = 150
MARGIN = 20
HEAD = 30
STEP = 34
_LETTER = 6.3
_HEAD_LETTER = 9

_ARROW = re.compile(r"(?P<source>[^:]+?) (?P<line>-->|->) (?P<target>[^:]+?): (?P<words>.+)")


class Lane(NamedTuple):
    """One line of the picture; without a source it is a heading, with source = target an event in that column."""

    source: str
    target: str
    words: str
    dashed: bool = False


class Unreadable(ValueError):
    """A flow that breaks the rules above."""


def read(flow: str) -> tuple[str, list[str], list[Lane]]:
    """Return title, columns and lanes of a flow; raises :class:`Unreadable`."""
    title, columns, *lines = [line.strip() for line in flow.strip().splitlines() if line.strip()]
    names = [name.strip() for name in columns.split(",")]
    lanes = [_lane(line) for line in lines]
    for lane in lanes:
        if unknown := {lane.source, lane.target} - {"", *names}:
            raise Unreadable(f"{lane.words!r} is between columns that are not there: {sorted(unknown)}")
    return title, names, lanes


def _lane(line: str) -> Lane:
    if line.startswith("= "):
        return Lane("", "", line[2:])
    if found := _ARROW.fullmatch(line):
        return Lane(found["source"], found["target"], found["words"], found["line"] == "-->")
    column, colon, words = line.partition(": ")
    if not colon:
        raise Unreadable(f"{line!r} is neither an arrow nor something that happens in a column")
    return Lane(column, column, words)


def draw(title: str, columns: Sequence[str], lanes: Sequence[Lane], boxed: bool = False) -> str:
    """Return the picture as SVG; with ``boxed`` a lane that stays in its column is a transition to itself."""
    places = _places(columns, lanes)
    last = max(places.values())
    width = last + max(COLUMN_MIN / 2, _overhang(columns[-1], lanes)) + MARGIN
    height = HEAD + 2 * MARGIN + STEP * len(lanes)
    parts = []
    for name, x in places.items():
        half = max(50, len(name) * _HEAD_LETTER / 2 + 10)
        parts.append(svg.line(x, MARGIN + HEAD, x, height - 10, svg.FAINT, "3 3"))
        parts.append(svg.box(x - half, MARGIN, 2 * half, HEAD, "#d9e8ff", 12 if boxed else 3))
        parts.append(svg.text(x, MARGIN + 20, name, 13))
    for index, lane in enumerate(lanes):
        parts += _drawn(lane, places, MARGIN + HEAD + STEP * (index + 1) - 6, width, boxed)
    return svg.picture(width, height, title, parts)


def _overhang(column: str, lanes: Sequence[Lane]) -> float:
    """Return how far the longest words beside a column reach to its right."""
    return max((len(lane.words) * _LETTER + 34 for lane in lanes if lane.source == lane.target == column), default=0)


def _places(columns: Sequence[str], lanes: Sequence[Lane]) -> dict[str, float]:
    """Return the x of each column, far enough from the one before it that all words fit between them."""
    places = {columns[0]: MARGIN + max(60, len(columns[0]) * _LETTER / 2 + 14)}
    for before, name in pairwise(columns):
        gap = max(COLUMN_MIN, (len(before) + len(name)) * _LETTER / 2 + 40, _overhang(before, lanes) + 10)
        for lane in lanes:
            if {lane.source, lane.target} == {before, name}:
                gap = max(gap, len(lane.words) * _LETTER + 30)
        places[name] = places[before] + gap
    return places


def _drawn(lane: Lane, places: dict[str, float], y: float, width: float, boxed: bool) -> list[str]:
    if not lane.source:
        band = f"<rect x='6' y='{y - 19:g}' width='{width - 12:g}' height='25' fill='#eceff3'/>"
        return [band, svg.text(14, y - 2, lane.words, 12, "start")]
    start, end = places[lane.source], places[lane.target]
    dash = "5 4" if lane.dashed else ""
    if start == end:
        back = svg.path(f"M{start:g} {y - 12:g} h14 v12 h-12", dash) if boxed else ""
        mark = back or f"<circle cx='{start:g}' cy='{y - 5:g}' r='4' fill='{svg.INK}'/>"
        return [mark, _on_paper(start + (20 if boxed else 10), y - 1, lane.words, "start")]
    return [
        svg.line(start, y, end, y, dash=dash, arrow=True),
        _on_paper((start + end) / 2, y - 5, lane.words, "middle"),
    ]


def _on_paper(x: float, y: float, words: str, anchor: str) -> str:
    """Return text that hides the lines behind it."""
    reach = len(words) * _LETTER
    left = x - reach / 2 if anchor == "middle" else x
    ground = f"<rect x='{left:g}' y='{y - 10:g}' width='{reach:g}' height='13' fill='{svg.PAPER}'/>"
    return ground + svg.text(x, y, words, 11, anchor)

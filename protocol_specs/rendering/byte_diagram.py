"""A declaration as a picture: its bytes, 16 in a row, to scale; a field of no fixed size runs to the end of a row."""

from typing import Any, NamedTuple

from protocol_specs.rendering import svg
from protocol_specs.rendering.layout import Row, bit_fields, rows_of

PER_ROW = 16
VARIABLE_MIN, VARIABLE_MAX = 4, 6
"""The width, in bytes, of a field of no fixed size when others follow it: the least and the most."""

BYTE = 46
HEIGHT = 40
LEFT = 44
TOP = 26
GAP = 8

_SIZE = "#fde9c9"
_COLOURS = (
    (
        "#d9e8ff",
        (
            "ledger_id",
            "entry_id",
            "start_entry_id",
            "ledger_scope_id",
            "request_id",
            "kind",
            "journal_id",
            "last_add_confirmed",
        ),
    ),
    (_SIZE, ("length", "size", "count", "max_count", "max_size", "group_count")),
    ("#e3f4de", ("header", "status", "magic", "version", "flags", "mask", "operation", "state")),
    ("#eceff3", ("ignored", "reserved", "body")),
)
_OTHER = "#f6e0f0"


class _Piece(NamedTuple):
    """The part of a field that lies in one row of the picture."""

    name: str
    start: int
    end: int
    begins: bool
    goes_on: bool


def draw(name: str, declaration: Any) -> str:
    """Return the picture of a Struct or a BitStruct as SVG."""
    in_bits = bit_fields(declaration) is not None
    lines = _lines(rows_of(declaration))
    width_bytes = PER_ROW if len(lines) > 1 else max(piece.end for piece in lines[0][1])
    unit = BYTE if not in_bits else BYTE * 2
    parts = [
        svg.text(LEFT + (column + 0.5) * unit, TOP - 8, _ruler(column, width_bytes, in_bits), 10, fill=svg.FAINT)
        for column in range(width_bytes)
    ]
    for index, (offset, pieces) in enumerate(lines):
        y = TOP + index * (HEIGHT + GAP)
        if not in_bits:
            parts.append(svg.text(LEFT - 8, y + HEIGHT / 2 + 4, offset, 10, "end", svg.FAINT))
        for piece in pieces:
            parts += _piece(piece, y, unit)
    height = TOP + len(lines) * (HEIGHT + GAP)
    return svg.picture(LEFT + width_bytes * unit + 14, height, f"Bytes of {name}", parts)


def _ruler(column: int, width: int, in_bits: bool) -> str:
    if not in_bits:
        return str(column)
    return f"{(width - column) * 8 - 1}-{(width - column - 1) * 8}"


def _lines(rows: list[Row]) -> list[tuple[str, list[_Piece]]]:
    """Lay the fields out: rows of the picture, each with the offset it starts at, if that is known."""
    lines: list[tuple[str, list[_Piece]]] = [("0", [])]
    column = 0

    def place(row: Row, width: int, begins: bool, goes_on: bool) -> None:
        nonlocal column
        lines[-1][1].append(_Piece(row.name, column, column + width, begins, goes_on))
        column += width

    def next_line(row: Row, placed: int) -> None:
        nonlocal column
        lines.append((str(int(row.offset) + placed) if row.offset.isdigit() else "", []))
        column = 0

    for row in rows:
        if row.bytes is None:
            if column > PER_ROW - VARIABLE_MIN:
                next_line(row, 0)
            place(row, min(PER_ROW - column, PER_ROW if row.size == "rest" else VARIABLE_MAX), True, True)
            continue
        placed = 0
        while placed < row.bytes:
            if column == PER_ROW:
                next_line(row, placed)
            width = min(row.bytes - placed, PER_ROW - column)
            place(row, width, not placed, placed + width < row.bytes)
            placed += width
    return lines


def _piece(piece: _Piece, y: float, unit: int) -> list[str]:
    x, width = LEFT + piece.start * unit, (piece.end - piece.start) * unit
    colour = next((colour for colour, names in _COLOURS if piece.name.removeprefix("size of ") in names), _OTHER)
    if piece.name.startswith("size of "):
        colour = _SIZE
    parts = [svg.box(x, y, width, HEIGHT, colour)]
    if piece.goes_on:
        parts.append(svg.line(x + width, y, x + width, y + HEIGHT, colour))
        parts.append(svg.text(x + width - 4, y + HEIGHT / 2 + 4, "…", 12, "end", svg.FAINT))
    label = piece.name.replace("_", " ")
    if not piece.begins:
        label = f"({label})" if len(label) * 7 < width else "…"
    size = 12 if len(label) * 7 < width else 9
    words = label.split(" ")
    if len(label) * (7 if size == 12 else 5.4) >= width - 6 and len(words) > 1:
        half = (len(words) + 1) // 2
        parts.append(svg.text(x + width / 2, y + HEIGHT / 2 - 2, " ".join(words[:half]), size))
        parts.append(svg.text(x + width / 2, y + HEIGHT / 2 + 11, " ".join(words[half:]), size))
    else:
        parts.append(svg.text(x + width / 2, y + HEIGHT / 2 + 4, label, size))
    return parts

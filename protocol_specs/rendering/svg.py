"""The little of SVG that the pictures of the reference need."""

from collections.abc import Iterable
from html import escape

FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"
INK = "#1f2933"
FAINT = "#7b8794"
PAPER = "#ffffff"


def text(x: float, y: float, words: str, size: int = 12, anchor: str = "middle", fill: str = INK) -> str:
    """Return a line of text with its baseline at ``y``."""
    return f"<text x='{x:g}' y='{y:g}' font-size='{size}' text-anchor='{anchor}' fill='{fill}'>{escape(words)}</text>"


def box(x: float, y: float, width: float, height: float, fill: str, radius: int = 0) -> str:
    """Return a rectangle with an outline."""
    return (
        f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='{radius}' "
        f"fill='{fill}' stroke='{INK}' stroke-width='1'/>"
    )


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = INK, dash: str = "", arrow: bool = False) -> str:
    """Return a straight line, dashed or with a head at its end."""
    dashes = f" stroke-dasharray='{dash}'" if dash else ""
    head = " marker-end='url(#head)'" if arrow else ""
    return f"<line x1='{x1:g}' y1='{y1:g}' x2='{x2:g}' y2='{y2:g}' stroke='{stroke}'{dashes}{head}/>"


def path(steps: str, dash: str = "", head: bool = True) -> str:
    """Return a path, dashed or with an arrow head at its end."""
    dashes = f" stroke-dasharray='{dash}'" if dash else ""
    end = " marker-end='url(#head)'" if head else ""
    return f"<path d='{steps}' fill='none' stroke='{INK}'{dashes}{end}/>"


def picture(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Return the whole file; a screen reader reads ``title`` out."""
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' width='{width:g}' "
            f"height='{height:g}' role='img' {FONT}>",
            f"<title>{escape(title)}</title>",
            "<defs><marker id='head' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' markerHeight='7' "
            f"orient='auto-start-reverse'><path d='M0 0 L10 5 L0 10 z' fill='{INK}'/></marker></defs>",
            f"<rect width='100%' height='100%' fill='{PAPER}'/>",
            *parts,
            "</svg>\n",
        ]
    )

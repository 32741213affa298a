"""The picture of the first page: the parts, and the users of each."""

from protocol_specs.rendering import svg

MARGIN, WIDTH, HEIGHT = 16.0, 640.0, 68.0
OURS, THEIRS, CLUSTER, WHOM = "#d9e8ff", "#eceff3", "#f8f4ea", "#8a4b08"


def part(x: float, y: float, width: float, whom: str, name: str, what: str, fill: str = OURS) -> list[str]:
    """Return a box with three lines: the users of a part, its name, and what it is."""
    middle = x + width / 2
    return [
        svg.box(x, y, width, HEIGHT, fill, 4),
        svg.text(middle, y + 18, whom, 11, fill=WHOM),
        svg.text(middle, y + 38, name, 14),
        svg.text(middle, y + 56, what, 11),
    ]


def picture() -> str:
    """Return the picture, as SVG."""
    parts: list[str] = []
    columns = [
        ("programs that keep logs", "BookKeeper", "the client, on Twisted"),
        ("analysts, data teams", "Spark", "ledgers as tables"),
        ("people at a shell", "bktx", "look, copy, measure"),
        ("authors of either side", "conformance suite", "judges bookies, clients"),
    ]
    width, gap = 144.0, (WIDTH - 2 * MARGIN - 4 * 144.0) / 3
    for index, column in enumerate(columns):
        x = MARGIN + index * (width + gap)
        parts += part(x, MARGIN, width, *column)
        parts.append(svg.line(x + width / 2, MARGIN + HEIGHT, x + width / 2, 139, arrow=True))
    parts.append(svg.text(WIDTH / 2, 116, "wire protocol: V2, V3", 11))
    parts.append(svg.box(MARGIN, 140, WIDTH - 2 * MARGIN, 118, CLUSTER, 8))
    parts.append(svg.text(MARGIN + 14, 162, "a BookKeeper cluster", 12, "start"))
    parts += part(30, 174, 184, "operators", "twistd bookie", "in Java's file formats")
    parts += part(228, 174, 184, "run beside ours", "Java's bookies", "4.9 to 4.18", THEIRS)
    parts += part(426, 174, 184, "shared by all", "metadata store", "an SQLite file, or ZooKeeper", THEIRS)
    parts += part(MARGIN, 302, 200, "your own tests", "LocalCluster", "starts bookies, kills them")
    parts.append(svg.line(MARGIN + 100, 302, MARGIN + 100, 260, arrow=True))
    parts += part(
        236,
        302,
        WIDTH - MARGIN - 236,
        "authors in any language",
        "protocol_specs",
        "every frame, entry and file, declared once",
    )
    x = 236 + (WIDTH - MARGIN - 236) / 2
    parts.append(svg.line(x, 302, x, 260, arrow=True))
    parts.append(svg.text(x + 10, 285, "codecs, reference, golden bytes", 11, "start"))
    return svg.picture(WIDTH, 302 + HEIGHT + MARGIN, "The parts, and the users of each", parts)

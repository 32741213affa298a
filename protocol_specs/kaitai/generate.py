"""Writes the ``.ksy`` files of this room: ``python -m protocol_specs.kaitai.generate [--check]``."""

import sys
from pathlib import Path

from protocol_specs.kaitai import yaml
from protocol_specs.kaitai.sources import SOURCES

ROOM = Path(__file__).parent

HEAD = "# Made by python -m protocol_specs.kaitai.generate out of the declarations in protocol_specs.  Do not edit.\n\n"


def files() -> dict[str, str]:
    """Return the text of every file by its name."""
    made = [source() for source in SOURCES]
    return {f"{each['meta']['id']}.ksy": HEAD + yaml.write(each) for each in made}


def stale(room: Path = ROOM) -> list[str]:
    """Return which files are not what the declarations say, each with the reason."""
    wrong, expected = [], files()
    for name, text in expected.items():
        path = room / name
        if not path.is_file():
            wrong.append(f"{name} is missing")
        elif path.read_text(encoding="utf-8") != text:
            wrong.append(f"{name} is not what its declarations say")
    wrong += [f"{path.name} is made by nothing" for path in sorted(room.glob("*.ksy")) if path.name not in expected]
    return wrong


def main(arguments: list[str]) -> int:
    """Write all files, or with ``--check`` say which are stale; return the exit code."""
    if arguments == ["--check"]:
        wrong = stale()
        for line in wrong:
            print(f"{line}; run python -m protocol_specs.kaitai.generate", file=sys.stderr)
        return 1 if wrong else 0
    if arguments:
        print("usage: python -m protocol_specs.kaitai.generate [--check]", file=sys.stderr)
        return 2
    for name, text in files().items():
        (ROOM / name).write_text(text, encoding="utf-8")
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The lines by which ``bktx bench`` and a process that makes load talk: ``verb name=value …``, ``ok name=value …``.

A program in any language can take part: ``load_process.py`` has the verbs.
"""

from collections.abc import Mapping, Sequence

from bookkeeper_tx.errors import BookKeeperError


class LoadFailed(BookKeeperError):
    """A process that makes load reports an error, or has ended."""


def render(verb: str, values: Mapping[str, object]) -> str:
    """Return a line; lists of numbers are joined by commas."""
    return " ".join([verb, *(f"{name}={_text(value)}" for name, value in values.items())])


def parse(line: str) -> tuple[str, dict[str, str]]:
    """Return the verb of a line and its values."""
    verb, *parts = line.split()
    return verb, dict(part.split("=", 1) for part in parts)


def parse_reply(line: str, name: str) -> dict[str, str]:
    """Return the values of a reply.  Raises LoadFailed for an error, in the words of the process ``name``."""
    if line.startswith("error "):
        raise LoadFailed(f"{name}: {line.removeprefix('error ').strip()}")
    return parse(line)[1]


def numbers(text: str) -> list[int]:
    """Return the numbers of a list."""
    return [int(each) for each in text.split(",")] if text else []


def _text(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)

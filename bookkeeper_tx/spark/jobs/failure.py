"""Errors of Spark in one line: the cause, without the stacks of the JVM and of its Python workers."""

import re

from attrs import define

OURS = re.compile(r"^(?:\S+: )*?bookkeeper_tx\.[\w.]+\.(?P<kind>\w+): (?P<text>.+)$", re.M)
"""The last line of a traceback of an error of this package, as Spark passes it on."""

OTHERS = re.compile(r"^(?P<kind>[\w.]*(?:Error|Exception)): (?P<text>.+)$", re.M)

_BEHIND = re.compile(r"^\s*(at \S+\(|SQLSTATE|JVM stacktrace|Driver stacktrace|Caused by:|Traceback )|^\s*$", re.M)
"""The start of the lines after the text of an error."""

_CODES = re.compile(r"^\[[A-Z_.0-9]+\] | SQLSTATE: \w+$")

TEXT_MAX = 2000
"""Characters of an error that are shown."""


@define(eq=False)
class CannotBeDone(Exception):
    """The job cannot start or go on; the text says why, and what to do."""

    text: str

    def __str__(self) -> str:
        return self.text


def one_line(error: BaseException) -> str:
    """Return the cause of an error."""
    text = str(error)
    found = OURS.search(text)
    if found is None and "Traceback" in text:
        found = next(iter(reversed(list(OTHERS.finditer(text)))), None)
    if found is None:
        lines = text.split("JVM stacktrace:")[0].splitlines()
        said = " ".join(_CODES.sub("", _until_trace("\n".join(lines))).split())
        return (said or type(error).__name__)[:TEXT_MAX]
    said = _until_trace(text[found.start("text") :])
    prefix = "" if found.re is OURS else f"{found['kind']}: "
    return (prefix + " ".join(said.split()))[:TEXT_MAX]


def _until_trace(text: str) -> str:
    behind = _BEHIND.search(text)
    return text[: behind.start()] if behind and behind.start() else text

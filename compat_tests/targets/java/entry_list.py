"""Java's own list of entries (``AvailabilityOfEntriesOfLedger``, from 4.10): many lists for each call of the driver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from compat_tests.targets.java.driver_process import DriverProcess


@attrs.frozen
class Question:
    """A list, and the ids that Java looks for in it."""

    data: bytes
    probed: Sequence[int]
    """Ids to be looked for one by one."""
    expected: Sequence[int]
    """Ids, ascending, that should be there: Java reports those that it takes for missing.

    Java walks from the first to the last, so they lie close together.
    """


@attrs.frozen
class Answer:
    """Java's findings in a list."""

    count: int
    found: list[int]
    """Those of the probed ids that are listed."""
    missing: list[int]
    """Those of the expected ids that Java takes for missing."""


def encode(driver: DriverProcess, sets: Iterable[Iterable[int]]) -> list[bytes]:
    """The bytes of Java's list for each set of entry ids; raises :class:`JavaError`."""
    texts = driver.call("encode_entry_lists", sets=";".join(map(_ids, sets)))["lists"]
    return [bytes.fromhex(text) for text in texts.split(";")]


def decode(driver: DriverProcess, questions: Sequence[Question]) -> list[Answer]:
    """Java's findings in each list; raises :class:`JavaError` if it cannot read one."""
    reply = driver.call(
        "decode_entry_lists",
        lists=";".join(each.data.hex() for each in questions),
        probed=";".join(_ids(each.probed) for each in questions),
        expected=";".join(_ids(each.expected) for each in questions),
    )
    columns = (reply[name].split(";") for name in ("counts", "found", "missing"))
    return [
        Answer(int(count), _numbers(found), _numbers(missing)) for count, found, missing in zip(*columns, strict=True)
    ]


def _ids(entry_ids: Iterable[int]) -> str:
    return ",".join(map(str, sorted(entry_ids)))


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]

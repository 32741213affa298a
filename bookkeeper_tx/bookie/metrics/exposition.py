"""Prometheus' text format, with Java's names as they are: a library would add ``_total`` to those of counters."""

import re
from typing import Final

from bookkeeper_tx.bookie.metrics.summary import QUANTILES, Outcomes, Summary

_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_:]")
_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Exposition:
    """The lines of one answer."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._typed: set[str] = set()

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Add a value that goes up and down."""
        self._add("gauge", name, value, labels)

    def counter(self, name: str, value: float, **labels: str) -> None:
        """Add a value that only grows."""
        self._add("counter", name, value, labels)

    def summary(self, name: str, outcomes: Outcomes, counts: tuple[int, int] | None = None, journal: str = "") -> None:
        """Add quantiles, counts and sums of what succeeded and of what failed.

        ``counts`` are the numbers of both where ``outcomes`` has samples only; the sums are estimated then.
        ``journal`` is the index of the journal that they are of.
        """
        self._type("summary", name)
        succeeded, failed = counts or (outcomes.succeeded.count, outcomes.failed.count)
        labels = {"journalIndex": journal} if journal else {}
        self._outcome(name, outcomes.succeeded, succeeded, {"success": "true", **labels})
        self._outcome(name, outcomes.failed, failed, {"success": "false", **labels})

    def _outcome(self, name: str, summary: Summary, count: int, labels: dict[str, str]) -> None:
        for quantile, value in zip(QUANTILES, summary.quantiles(), strict=True):
            self._sample(name, value, {**labels, "quantile": str(quantile)})
        self._sample(f"{name}_count", count, labels)
        self._sample(f"{name}_sum", summary.sum if count == summary.count else summary.mean * count, labels)

    def _add(self, kind: str, name: str, value: float, labels: dict[str, str]) -> None:
        self._type(kind, name)
        self._sample(name, value, labels)

    def _type(self, kind: str, name: str) -> None:
        if name not in self._typed:
            self._typed.add(name)
            self._lines.append(f"# TYPE {name} {kind}")

    def _sample(self, name: str, value: float, labels: dict[str, str]) -> None:
        pairs = ",".join(f'{key}="{text.translate(_ESCAPED)}"' for key, text in labels.items())
        number = "NaN" if value != value else repr(value)
        self._lines.append(f"{name}{{{pairs}}} {number}" if pairs else f"{name} {number}")


def name_of_path(path: str) -> str:
    """Return ``path`` as Java makes a part of a name of it."""
    return _NO_NAME.sub("_", path)

"""The results of a run, and their JSON form."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import asdict, evolve, field, frozen

from compat_tests.judge.case import Case
from compat_tests.judge.recording import Event
from compat_tests.judge.verdict import Verdict

FORMAT = 1
"""Version of the JSON form."""

_CASE_FIELDS = (
    "id",
    "role",
    "area",
    "title",
    "requirement",
    "level",
    "section",
    "since",
    "until",
    "provenance",
    "sends",
    "accepts",
    "dialects",
    "needs",
    "after",
    "site",
)


@frozen
class KnownDivergence:
    """A divergence on record, as a result names it."""

    code: str
    reference: str
    text: str


@frozen
class Result:
    """The result of one case in one protocol version against one target."""

    case: str
    dialect: str
    verdict: Verdict
    message: str = ""
    expected: str = ""
    seen: str = ""
    note: str = ""
    """Why a pass is not strict; the traceback of an error."""
    duration_s: float = 0.0
    known: KnownDivergence | None = None
    exchange: Sequence[Event] = ()

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in ("case", "dialect", "message", "expected", "seen", "note")}
        return {
            **values,
            "verdict": str(self.verdict),
            "duration_s": round(self.duration_s, 4),
            "known": asdict(self.known) if self.known else None,
            "exchange": [event.to_json() for event in self.exchange],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Result":
        values = dict(data)
        values["verdict"] = Verdict(values["verdict"])
        values["known"] = KnownDivergence(**values["known"]) if values.get("known") else None
        values["exchange"] = [Event.from_json(event) for event in values.get("exchange", ())]
        return cls(**values)


@frozen
class TargetInfo:
    """The target of a run."""

    name: str
    implementation: str = ""
    release: str = ""
    how: str = ""


def describe(case: Case) -> dict[str, Any]:
    """The fields of a case that a report shows."""
    return {name: _plain(getattr(case, name)) for name in _CASE_FIELDS}


@frozen
class Run:
    """All results of one target in one role."""

    role: str
    target: TargetInfo
    seed: int
    started: str
    """UTC, ISO 8601."""
    suite_version: str
    command: str = ""
    """The command that repeats the run."""
    duration_s: float = 0.0
    interrupted: bool = False
    not_checked: str | None = None
    """Why the target could not be had, if it could not."""
    features: Mapping[str, str] = field(factory=dict)
    """``yes``, or ``no`` with how that showed."""
    cases: Sequence[Mapping[str, Any]] = ()
    results: Sequence[Result] = ()

    @property
    def counts(self) -> Counter[Verdict]:
        """How many results have which verdict."""
        return Counter(result.verdict for result in self.results)

    @property
    def succeeded(self) -> bool:
        """Whether nothing failed, nothing was left out, the target was there, and a case says something of it."""
        fine = all(result.verdict.fine for result in self.results)
        return fine and not self.interrupted and self.not_checked is None and not self.nothing_supported

    @property
    def nothing_supported(self) -> bool:
        """Whether every case is unsupported: then the target is not known to conform."""
        return set(self.counts) <= {Verdict.UNSUPPORTED}

    def to_json(self) -> dict[str, Any]:
        values = {
            name: getattr(self, name)
            for name in ("role", "seed", "started", "suite_version", "command", "interrupted", "not_checked")
        }
        return {
            "format": FORMAT,
            **values,
            "role": str(self.role),
            "target": asdict(self.target),
            "duration_s": round(self.duration_s, 3),
            "features": dict(self.features),
            "cases": [dict(case) for case in self.cases],
            "results": [result.to_json() for result in self.results],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Run":
        """Read the JSON form.  Raises ValueError for data of another form or version."""
        values = dict(data)
        if values.pop("format", None) != FORMAT:
            raise ValueError(f"not a run of format {FORMAT}: run the suite again with this version of it")
        values["target"] = TargetInfo(**values["target"])
        values["results"] = [Result.from_json(result) for result in values["results"]]
        return cls(**values)

    def without_exchanges(self) -> "Run":
        """The same run without exchanges, which makes it small."""
        return evolve(self, results=[evolve(result, exchange=()) for result in self.results])


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value if value is None else str(value)

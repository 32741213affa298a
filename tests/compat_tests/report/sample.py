"""Sample runs for the tests of reports, with frames of the vectors."""

from collections.abc import Sequence
from typing import Any

from compat_tests.judge.recording import NOTE, SUITE, TARGET, Event
from compat_tests.judge.result import KnownDivergence, Result, Run, TargetInfo
from compat_tests.judge.verdict import Verdict
from protocol_specs import vectors

_VECTORS = {vector["name"]: vector for vector in vectors.load("wire")}
EXCHANGES = [name for name, vector in _VECTORS.items() if "request" in vector]


def exchange(*names: str, offset_s: float = 0.0) -> list[Event]:
    """Return the requests and replies of vectors, and a remark on the end."""
    events, at = [], offset_s
    for vector in map(_VECTORS.__getitem__, names):
        for side, sender in (("request", SUITE), ("reply", TARGET)):
            if side in vector:
                events.append(Event(round(at := at + 0.001, 4), "main", sender, bytes.fromhex(vector[side])))
    return [*events, Event(at + 0.002, "main", NOTE, text="closed by the target")]


def case(number: int, area: str = "READ", **fields: Any) -> dict[str, Any]:
    """Return a case as a run describes it."""
    return {
        "id": f"BKW-{area}-{number:03}",
        "role": "bookie",
        "area": area,
        "title": f"what number {number} of <{area}> says",
        "requirement": "A bookie MUST answer a read of an entry that it lacks with ENOENTRY.",
        "level": "MUST",
        "section": "sec-read-entry-states",
        "since": "4.0",
        "until": None,
        "provenance": "BK#3783",
        "sends": "A read of an entry after the last.",
        "accepts": "ENOENTRY, and nothing else.",
        "dialects": ["V2", "V3"],
        "needs": [],
        "after": [],
        "site": "plain",
        **fields,
    }


def result(case_id: str, verdict: Verdict, dialect: str = "V2", **fields: Any) -> Result:
    """Return a result, with an exchange."""
    fields.setdefault("exchange", exchange(EXCHANGES[0]))
    if verdict is Verdict.FAIL:
        fields.setdefault("expected", "ENOENTRY")
        fields.setdefault("seen", "EIO")
        fields.setdefault("message", "the reply to the read: expected ENOENTRY, seen EIO")
    if verdict is Verdict.KNOWN_DIVERGENCE:
        fields.setdefault("known", KnownDivergence("D14", "correctness: D14", "The fence is lost."))
    return Result(case_id, dialect, verdict, **{"duration_s": 0.012, **fields})


def run(results: Sequence[Result], cases: Sequence[dict[str, Any]], name: str = "ours", **fields: Any) -> Run:
    """Return a run of these results."""
    target = TargetInfo(name, name.split()[0].lower(), fields.pop("release", ""), "a process on this machine")
    values: dict[str, Any] = {
        "role": "bookie",
        "seed": 1,
        "started": "2026-01-02T03:04:05Z",
        "suite_version": "0.1.0",
        "command": f"bookkeeper-conformance bookie --target {name.split()[0].lower()} --seed 1",
        "duration_s": 31.25,
        "features": {"v2": "yes", "scopes": "no: the bookie publishes nothing of them"},
        **fields,
    }
    return Run(target=target, cases=cases, results=results, **values)


def every_verdict(name: str = "ours") -> Run:
    """Return a run in which each verdict occurs once."""
    cases = [case(number, "READ" if number % 2 else "ADD") for number, _ in enumerate(Verdict, 1)]
    results = [result(case["id"], verdict) for case, verdict in zip(cases, Verdict, strict=True)]
    return run(results, cases, name)

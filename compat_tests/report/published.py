"""The published form of runs: the targets, the counts, and the results that are not a plain pass.

It is small: a result that is not listed is a pass, and a result that several targets share is listed once.  Cases are
listed without their texts: these are in the catalogue.  A digest shows whether a text is still that of the run.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict

from compat_tests import catalogue
from compat_tests.judge.case import Case
from compat_tests.judge.result import KnownDivergence, Result, Run, TargetInfo, describe
from compat_tests.judge.verdict import Verdict
from compat_tests.report.json_rows import json_rows
from compat_tests.report.rerun_command import without_reports

RUNS, MUTANTS = Path("docs/conformance/runs.json"), Path("docs/conformance/mutants.json")
"""Where they are in a checkout."""

MARK, FORM = "published", 1
"""The first name of the form, and its version."""

REMARK = "remark"
"""The field of a case whose text is not that of the run."""

CHANGED = "The text of this case has changed since it was run."
GONE = "This case is no longer in the suite."

_BINDING = ("level", "requirement", "sends", "accepts", "since", "until", "dialects", "needs")
"""The fields that say what a verdict means."""

_DIGITS = 6
_TEXTS = ("expected", "seen", "note")
_OF_RUN = ("seed", "started", "suite_version", "command", "duration_s", "interrupted", "not_checked")

Row = dict[str, Any]
TriedCases = dict[str, list[str]]
"""By case: the digest of its text, and the protocol versions in which it was run."""


def write_published(runs: Sequence[Run], path: Path) -> None:
    """Write the published form: of several runs of one target in one role, the last."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json_rows(to_published(runs)), encoding="utf-8")


# From runs -----------------------------------------------------------------------------------------------------------


def to_published(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the published form: of several runs of one target in one role, the last."""
    in_order = sorted({(str(run.role), run.target.name): run for run in runs}.values(), key=_place)
    data: dict[str, Any] = {MARK: FORM, "runs": [_head(run) for run in in_order]}
    rows: list[Row] = []
    for role in sorted({str(run.role) for run in in_order}):
        of_role = [run for run in in_order if run.role == role]
        data[f"{role}_cases"] = tried = _tried_cases(of_role)
        rows += _rows(of_role, tried)
    return {**data, "results": rows}


def digest(case: Mapping[str, Any]) -> str:
    """Return the digest of the text of a case; none if the text is not that of the run."""
    if REMARK in case:
        return ""
    binding = json.dumps({name: case.get(name) for name in _BINDING}, sort_keys=True)
    return hashlib.sha256(binding.encode()).hexdigest()[:_DIGITS]


def _place(run: Run) -> tuple[Any, ...]:
    """A sort key: the order of runs must not depend on the order in which their files are named."""
    release = tuple(int(part) for part in run.target.release.split(".") if part.isdigit())
    return str(run.role), run.target.implementation, release, run.target.name


def _head(run: Run) -> Row:
    values = {name: getattr(run, name) for name in _OF_RUN}
    values["command"] = without_reports(run.command)
    values["duration_s"] = round(run.duration_s, 3)
    head = {"role": str(run.role), **asdict(run.target), **values}
    return {**head, "counts": _counts(run.results), "features": dict(run.features)}


def _counts(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """By protocol version."""
    dialects = sorted({result.dialect for result in results})
    found = {dialect: Counter(each.verdict for each in results if each.dialect == dialect) for dialect in dialects}
    return {
        dialect: {str(verdict): counts[verdict] for verdict in Verdict if counts[verdict]}
        for dialect, counts in found.items()
    }


def _tried_cases(runs: Sequence[Run]) -> TriedCases:
    digests: dict[str, set[str]] = {result.case: set() for run in runs for result in run.results}
    dialects: dict[str, set[str]] = {}
    for run in runs:
        for case in run.cases:
            digests.setdefault(case["id"], set()).add(digest(case))
        for result in run.results:
            dialects.setdefault(result.case, set()).add(result.dialect)
    return {
        case: [found.pop() if len(found) == 1 else "", *sorted(dialects.get(case, ()))]
        for case, found in sorted(digests.items())
    }


def _rows(runs: Sequence[Run], tried: TriedCases) -> Iterator[Row]:
    """The results that are not a plain pass; alike ones of several targets share a row."""
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for run in runs:
        results = {(result.case, result.dialect): result for result in run.results}
        for case, (_, *dialects) in tried.items() if results else ():
            for dialect in dialects:
                outcome = json.dumps(_outcome(results.get((case, dialect))))
                found.setdefault(case, {}).setdefault(outcome, {}).setdefault(run.target.name, []).append(dialect)
    for case in sorted(found):
        for outcome, targets in found[case].items():
            if outcome != _PLAIN:
                by_dialects: dict[tuple[str, ...], list[str]] = {}
                for target, in_dialects in targets.items():
                    by_dialects.setdefault(tuple(in_dialects), []).append(target)
                for in_dialects, names in by_dialects.items():
                    yield {"case": case, "dialects": list(in_dialects), "targets": names, **json.loads(outcome)}


def _outcome(result: Result | None) -> Row:
    if result is None:
        return {"verdict": None}
    row: Row = {"verdict": str(result.verdict)}
    row |= {name: getattr(result, name) for name in _TEXTS if getattr(result, name)}
    if result.message != _usual_message(result.note, result.known):
        row["message"] = result.message
    return {**row, "known": asdict(result.known)} if result.known else row


_PLAIN = json.dumps({"verdict": str(Verdict.PASS)})


def _usual_message(note: str, known: KnownDivergence | None) -> str:
    return f"{known.code}: {known.text}" if known else note


# To runs -------------------------------------------------------------------------------------------------------------


def from_published(data: Mapping[str, Any], cases: Mapping[str, Case] | None = None) -> list[Run]:
    """Return the runs, without exchanges and without the times of single cases.

    :param cases: by id; those of the catalogue if not given

    Raises ValueError for another form, and if the counts are not those of the results; KeyError or TypeError if parts
    are missing or wrong.
    """
    if data[MARK] != FORM:
        raise ValueError(f"not published in form {FORM}: read it with the version of the suite that wrote it")
    if cases is None:
        cases = {case.id: case for case in catalogue.load()}
    texts = {
        role: {case_id: _text(case_id, role, found[0], cases) for case_id, found in data[f"{role}_cases"].items()}
        for role in {head["role"] for head in data["runs"]}
    }
    return [_run(head, data, texts[head["role"]]) for head in data["runs"]]


def _text(case_id: str, role: str, known_digest: str, cases: Mapping[str, Case]) -> Mapping[str, Any]:
    """The text of a case as it is now, with a remark if it is another one than that of the run."""
    if case_id in cases:
        now = describe(cases[case_id])
        return now if digest(now) == known_digest else {**now, REMARK: CHANGED}
    nothing = dict.fromkeys(("title", "requirement", "level", "section", "provenance", "sends", "accepts", "site"), "")
    lists: Row = {name: [] for name in ("dialects", "needs", "after")}
    area = case_id.split("-")[1]
    return {"id": case_id, "role": role, "area": area, "since": None, "until": None, **nothing, **lists, REMARK: GONE}


def _run(head: Mapping[str, Any], data: Mapping[str, Any], texts: Mapping[str, Mapping[str, Any]]) -> Run:
    results = list(_results(head, data)) if head["counts"] else []
    if _counts(results) != head["counts"]:
        raise ValueError(f"the counts of {head['role']} {head['name']} are not those of its results")
    judged = {result.case for result in results} or texts.keys()
    target = TargetInfo(**{name: head[name] for name in ("name", "implementation", "release", "how")})
    return Run(
        head["role"],
        target,
        features=head["features"],
        cases=[text for case_id, text in texts.items() if case_id in judged],
        results=results,
        **{name: head[name] for name in _OF_RUN},
    )


def _results(head: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Result]:
    rows = {
        (row["case"], dialect): row
        for row in data["results"]
        if head["name"] in row["targets"]
        for dialect in row["dialects"]
    }
    for case, (_, *dialects) in data[f"{head['role']}_cases"].items():
        for dialect in dialects:
            row = rows.get((case, dialect), {"verdict": Verdict.PASS})
            if row["verdict"] is not None:
                yield _result(case, dialect, row)


def _result(case: str, dialect: str, row: Mapping[str, Any]) -> Result:
    known = KnownDivergence(**row["known"]) if "known" in row else None
    texts = {name: row.get(name, "") for name in _TEXTS}
    message = row.get("message", _usual_message(texts["note"], known))
    return Result(case, dialect, Verdict(row["verdict"]), message, known=known, **texts)

"""A badge: whether a target conforms, and how many cases it passes."""

import json
from pathlib import Path

from anybadge import Badge

from compat_tests.judge.result import Run
from compat_tests.judge.verdict import Verdict

LABEL = "BookKeeper {role}"

_GREEN, _YELLOW, _RED, _GREY = "#2e7d32", "#a86400", "#c62828", "#6b6b6b"


def write_badge(run: Run, path: Path) -> None:
    """Write the badge: an SVG, or for a path that ends in ``.json`` the JSON that shields.io reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(endpoint(run)) + "\n" if path.suffix == ".json" else svg(run)
    path.write_text(text, encoding="utf-8")


def message(run: Run) -> tuple[str, str]:
    """Return what the badge says and its colour.

    It counts cases: one that fails in either protocol version fails.
    """
    if run.not_checked is not None or not run.results:
        return "not checked", _GREY
    verdicts: dict[str, list[Verdict]] = {}
    for result in run.results:
        verdicts.setdefault(result.case, []).append(result.verdict)
    judged = [found for found in verdicts.values() if set(found) != {Verdict.UNSUPPORTED}]
    if not judged:
        return "nothing supported", _GREY
    good = sum(all(each in _GOOD for each in found) for found in judged)
    text = f"{good}/{len(judged)} cases"
    if run.interrupted:
        return f"{text}, interrupted", _GREY
    if not run.succeeded:
        return text, _RED
    return text, _GREEN if good == len(judged) else _YELLOW


_GOOD = (Verdict.PASS, Verdict.PASS_NONSTRICT, Verdict.UNSUPPORTED)


def svg(run: Run) -> str:
    """Return the badge as SVG."""
    text, colour = message(run)
    return str(Badge(LABEL.format(role=run.role), text, default_color=colour).badge_svg_text)


def endpoint(run: Run) -> dict[str, object]:
    """Return the badge as the JSON that shields.io reads from an endpoint."""
    text, colour = message(run)
    return {"schemaVersion": 1, "label": LABEL.format(role=run.role), "message": text, "color": colour.lstrip("#")}

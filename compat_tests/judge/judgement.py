"""One case in one protocol version: try it, and give its result."""

import time
import traceback
from collections.abc import Sequence

from attrs import evolve, frozen

from compat_tests.judge.attempt import Attempt, Brief
from compat_tests.judge.case import MUST
from compat_tests.judge.divergences import Divergence, lookup, within
from compat_tests.judge.environment import Environment
from compat_tests.judge.result import Result, TargetInfo
from compat_tests.judge.verdict import Interrupted, Mismatch, NotReached, Unsupported, Verdict
from compat_tests.targets.process import StartFailed
from compat_tests.targets.sites import NotOffered
from compat_tests.targets.unavailable import Unavailable
from protocol_specs.codecs import Malformed

RELEASES_OF = "java"
"""The implementation whose releases ``since`` and ``until`` of a case name."""


@frozen
class Measure:
    """How strictly cases are judged, and which divergences are on record."""

    strict: bool = False
    """Whether SHOULD and MAY bind as MUST does."""
    divergences: Sequence[Divergence] = ()
    """The divergences on record for the target."""


def judge(environment: Environment, brief: Brief, measure: Measure) -> Result:
    """Try the case and return its result; raises only exceptions that end the whole program."""
    started = time.monotonic()
    result = evolve(_result(environment, brief, measure), duration_s=time.monotonic() - started)
    return evolve(result, exchange=brief.recording.events)


def unsupported(brief: Brief, info: TargetInfo) -> Result | None:
    """The result of a case for other releases, or whose features are absent; None if it can be tried."""
    dialect, case = brief.dialect.lower(), brief.case
    if info.implementation == RELEASES_OF and not within(info.release, case.since or "0", case.until or "999"):
        span = f"since {case.since}" if case.since else f"up to {case.until}"
        return _of(brief, Verdict.UNSUPPORTED, f"the protocol has it {span} only")
    for name in (dialect, *(need.format(dialect=dialect) for need in brief.case.needs)):
        found = brief.features.get(name, "yes")
        if found != "yes":
            reason = found.removeprefix("no").lstrip(": ")
            return _of(brief, Verdict.UNSUPPORTED, f"no {name}{': ' if reason else ''}{reason}")
    return None


def _result(environment: Environment, brief: Brief, measure: Measure) -> Result:
    lacking = unsupported(brief, environment.info)
    if lacking is not None:
        return lacking
    try:
        with environment.attempt(brief) as attempt:
            brief.case.script(attempt)
            attempt.finish()
            return _passed(attempt, environment, brief, measure)
    except Mismatch as wrong:
        return _failed(wrong, environment, brief, measure)
    except Malformed as broken:  # the suite parses only data that the target has made
        wrong = Mismatch("what the target has made", "of the documented form", str(broken))
        return _failed(wrong, environment, brief, measure)
    except (Unsupported, NotOffered) as absent:
        return _of(brief, Verdict.UNSUPPORTED, str(absent))
    except Unavailable as missing:
        return _of(brief, Verdict.NOT_CHECKED, missing.reason)
    except Interrupted:
        return _of(brief, Verdict.NOT_REACHED, "the run was interrupted")
    except NotReached as reason:
        return _of(brief, Verdict.NOT_REACHED, str(reason))
    except StartFailed as failed:
        wrong = Mismatch(f"the {brief.case.role}", "that it starts", str(failed))
        return _failed(wrong, environment, brief, measure)
    except Exception as fault:  # a fault of the suite itself, which must not end the other cases
        return _of(brief, Verdict.ERROR, f"{type(fault).__name__}: {fault}", note=traceback.format_exc())


def _passed(attempt: Attempt, environment: Environment, brief: Brief, measure: Measure) -> Result:
    note = "; ".join(attempt.notes)
    release = environment.info.release
    on_record = lookup(measure.divergences, brief.case.id, brief.dialect, release)
    known = next((each for each in on_record if each.certain(release)), None)
    if known is not None:
        message = f"unexpected pass: {known.code} is on record for this release ({known.reference}), and does not show"
        return _of(brief, Verdict.FAIL, message, expected=known.seen, seen="what the case requires", known=known.known)
    if note:
        return _of(brief, Verdict.FAIL if measure.strict else Verdict.PASS_NONSTRICT, note, note=note)
    return _of(brief, Verdict.PASS)


def _failed(wrong: Mismatch, environment: Environment, brief: Brief, measure: Measure) -> Result:
    details = {"expected": wrong.expected, "seen": wrong.seen}
    on_record = lookup(measure.divergences, brief.case.id, brief.dialect, environment.info.release)
    known = next((each for each in on_record if each.excuses(f"{wrong.what}: {wrong.seen}")), None)
    if known is not None:
        message = f"{known.code}: {known.text}"
        return _of(brief, Verdict.KNOWN_DIVERGENCE, message, known=known.known, **details)
    message = f"{wrong.what}: expected {wrong.expected}, seen {wrong.seen}"
    if on_record:
        message += f" ({on_record[0].code} is on record, but shows as: {on_record[0].seen})"
    if brief.case.level is MUST or measure.strict or on_record:
        return _of(brief, Verdict.FAIL, message, **details)
    return _of(brief, Verdict.PASS_NONSTRICT, message, note=message, **details)


def _of(brief: Brief, verdict: Verdict, message: str = "", **details: object) -> Result:
    return Result(brief.case.id, str(brief.dialect), verdict, message, **details)  # type: ignore[arg-type]

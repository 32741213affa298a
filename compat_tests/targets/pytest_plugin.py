"""A pytest plugin: cases by BookKeeper release, *not checked here* as an outcome, and the table of results.

* A test that takes the argument ``java_release`` runs once for each release: on 4.16.6 and 4.18.0, with ``--full`` on
  all. ``@pytest.mark.releases(since="4.17", until=..., every=True)`` says which releases it is for, and ``every`` that
  it runs on all of these each time, ``newest`` in its place that it runs on 4.18.0 alone.
  ``--java-releases 4.9.2,4.18.0`` (or ``BKTX_JAVA_RELEASES``) asks for these only.
* With ``--keep-runs DIR`` the tests that judge whole targets leave their runs there as JSON, to be published.
* A test marked ``full`` runs with ``--full`` (or ``BKTX_FULL=1``) only.
* :class:`Unavailable` in a test or a fixture means *not checked here*. With ``CI=true`` that is a failure, as is any
  other skip of a test marked ``java``, ``spark``, ``crash``, ``node`` or ``docker``.
* Tests with one of these marks, or with a release, are in the table at the end.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.targets.jvm import find_jvm
from compat_tests.targets.results import FAILED, NO_RELEASE, NOT_CHECKED, PASSED, Results
from compat_tests.targets.selection import Usual, Wanted, applicable, parse_releases, selected
from compat_tests.targets.unavailable import Unavailable, must_be_there

_MUST_RUN_IN_CI = ("java", "spark", "crash", "node", "docker")
_ARGUMENT = "java_release"
_NOT_IN_THIS_RUN = "not in this run (tox -e full has every case on every release)"

_results = pytest.StashKey[Results]()
_wanted = pytest.StashKey[Wanted]()

#: Case to the releases it is for: what did not run of these is said in the table, and only known at the end.
_expected = pytest.StashKey[dict[str, tuple[str, ...]]]()


def in_ci() -> bool:
    """Whether a case that cannot be checked is a failure."""
    return must_be_there()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("bookkeeper", "BookKeeper releases")
    group.addoption("--full", action="store_true", help="the long forms too, every case on every release")
    group.addoption("--java-releases", metavar="R,R", help="run on exactly these BookKeeper releases")
    group.addoption(
        "--keep-runs", metavar="DIR", type=Path, help="keep the runs of the conformance suite and the score of mutants"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the options and the environment."""
    config.addinivalue_line("markers", "one_row: one row of the table for all parameters but the release")
    config.addinivalue_line("markers", "releases(since, until, every, newest): the BookKeeper releases a case is for")
    full = config.getoption("--full", default=False) or os.environ.get("BKTX_FULL") == "1"
    text = config.getoption("--java-releases", default=None) or os.environ.get("BKTX_JAVA_RELEASES", "")
    try:
        config.stash[_wanted] = Wanted(bool(full), parse_releases(text))
    except ValueError as error:
        raise pytest.UsageError(f"--java-releases: {error}") from error
    config.stash[_results] = Results()
    config.stash[_expected] = {}


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the JVM and the releases: a result without them says little."""
    try:
        origin = find_jvm().origin
    except Unavailable as missing:
        origin = f"none ({missing.reason})"
    wanted = config.stash[_wanted]
    return [
        f"Java: {origin}; releases: {', '.join(wanted.releases) or ('all' if wanted.full else 'as each case says')}"
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each release it runs on now."""
    if _ARGUMENT not in metafunc.fixturenames:
        return
    case, usual = _releases_of(metafunc.definition)
    releases = selected(case, metafunc.config.stash[_wanted], usual)
    metafunc.parametrize(_ARGUMENT, releases, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark what needs a JVM, let ``-k`` and ``-m`` choose, then leave out what is not for this run."""
    for item in items:
        if _ARGUMENT in getattr(item, "fixturenames", ()) and item.get_closest_marker("java") is None:
            item.add_marker("java")
    yield
    full = config.stash[_wanted].full
    left_out = [item for item in items if _no_release_left(item) or (item.get_closest_marker("full") and not full)]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
    for item in left_out:
        if _no_release_left(item):
            config.stash[_expected][_case(item)] = _releases_of(item)[0]
        elif _in_table(item):
            config.stash[_results].record(_case(item), _release(item), NOT_CHECKED, _NOT_IN_THIS_RUN)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn :class:`Unavailable` into a skip, and what must not be skipped in CI into a failure; fill the table."""
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(Unavailable):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"not checked here: {call.excinfo.value}")
    expected = hasattr(report, "wasxfail")
    if report.skipped and not expected and in_ci() and _must_run(item):
        report.outcome = "failed"
        report.longrepr = f"CI=true: {_reason(report)}"
    if _in_table(item):
        _tabulate(item, report, expected)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, Any]:
    """In CI an integration module must not skip itself as a whole either."""
    report = yield
    if report.skipped and in_ci() and "integration" in Path(collector.path).parts:
        report.outcome = "failed"
        report.longrepr = f"CI=true: {_reason(report)}"
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the table."""
    results = config.stash[_results]
    for case, releases in config.stash[_expected].items():
        results.expect(case, releases, _NOT_IN_THIS_RUN)
    if results.empty:
        return
    terminalreporter.section("case by BookKeeper release")
    for line in results.render():
        terminalreporter.write_line(line)


def _releases_of(node: pytest.Item) -> tuple[tuple[str, ...], Usual]:
    marker = node.get_closest_marker("releases")
    arguments = dict(marker.kwargs) if marker else {}
    every, newest = arguments.pop("every", False), arguments.pop("newest", False)
    return applicable(**arguments), Usual.EVERY if every else Usual.NEWEST if newest else Usual.MAIN


def _release(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    release = callspec.params.get(_ARGUMENT) if callspec else None
    return release if isinstance(release, str) else NO_RELEASE


def _no_release_left(item: pytest.Item) -> bool:
    """Whether it wants a release and is for none of this run: pytest would skip it, which CI takes for a failure."""
    return _ARGUMENT in getattr(item, "fixturenames", ()) and _release(item) == NO_RELEASE


def _case(item: pytest.Item) -> str:
    """``file::test[other parameters]``: the same for every release."""
    name = getattr(item, "originalname", None) or item.name
    callspec = getattr(item, "callspec", None)
    ids = callspec.id.split("-") if callspec else []
    others = [part for part in ids if part not in (_release(item), "NOTSET")]
    if item.get_closest_marker("one_row"):
        others = []
    parent = f"{item.parent.name}::" if isinstance(item.parent, pytest.Class) else ""
    return f"{item.path.stem.removeprefix('test_')}::{parent}{name}" + (f"[{'-'.join(others)}]" if others else "")


def _must_run(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in _MUST_RUN_IN_CI)


def _in_table(item: pytest.Item) -> bool:
    return _release(item) != NO_RELEASE or _must_run(item)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ").removeprefix("not checked here: ")


def _tabulate(item: pytest.Item, report: pytest.TestReport, expected: bool) -> None:
    results = item.config.stash[_results]
    outcome = PASSED if report.passed or expected else (NOT_CHECKED if report.skipped else FAILED)
    results.record(_case(item), _release(item), outcome, _reason(report) if report.skipped else "")
    if report.when == "teardown" and _release(item) != NO_RELEASE:
        item.config.stash[_expected][_case(item)] = _releases_of(item)[0]

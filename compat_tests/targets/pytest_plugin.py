"""A pytest plugin: cases by BookKeeper release, *not checked here* as an outcome, and the table of results.

* A test that takes the argument ``java_release`` runs on the newest release that it is for, with ``--full`` on each of
  them. ``@pytest.mark.releases(since="4.17", until=..., main=True)`` says which releases it is for, and ``main`` that
  it always runs on 4.16.6, which has no batch read, as well as on 4.18.0.
  ``--java-releases 4.9.2,4.18.0`` (or ``BKTX_JAVA_RELEASES``) asks for these only.
* ``--java-target docker`` (or ``BKTX_JAVA_TARGET``) has Java's bookies and clients, ZooKeeper and etcd run in
  containers; ``java``, the default, on this machine. A test that takes ``java_target`` is told which it is; a module
  that uses ``java_in_containers`` has Java and ZooKeeper in containers in either case.
* With ``--full --keep-runs DIR`` the tests that judge whole targets leave their runs there as JSON, to be published.
* A test marked ``full`` runs with ``--full`` (or ``BKTX_FULL=1``) only.
* :class:`Unavailable` in a test or a fixture means *not checked here*. With ``CI=true`` that is a failure, as is any
  other skip of a test marked ``java``, ``spark``, ``etcd``, ``crash``, ``node`` or ``docker``.
* Tests with one of these marks, or with a release, are in the table at the end, also of a run that several workers
  of pytest-xdist share.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from compat_tests.targets.docker.containers import Containers
from compat_tests.targets.java_runner import java_run_by
from compat_tests.targets.jvm import find_jvm
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.results import FAILED, NO_RELEASE, NOT_CHECKED, PASSED, Results
from compat_tests.targets.selection import (
    DefaultReleases,
    ReleaseSelection,
    applicable_releases,
    parse_releases,
    select_releases,
)
from compat_tests.targets.unavailable import Unavailable, must_be_there

_MUST_RUN_IN_CI = ("java", "spark", "etcd", "crash", "node", "docker")
_ARGUMENT = "java_release"
_TARGETS = ("java", "docker")
_NOT_IN_THIS_RUN = "not in this run (tox -e full has every case on every release)"

_selection = pytest.StashKey[ReleaseSelection]()
_table = pytest.StashKey["Table"]()
_target = pytest.StashKey[str]()
_containers = pytest.StashKey[Containers]()

#: The names under which a report has a row of the table, and a worker the tests that it left out.
_ROW = "bookkeeper_row"
_LEFT_OUT = "bookkeeper_left_out"
_USED = "bookkeeper_containers"


def in_ci() -> bool:
    """Whether a case that cannot be checked is a failure."""
    return must_be_there()


def is_full(config: pytest.Config) -> bool:
    """Whether this run has the long forms, too."""
    return bool(config.getoption("--full", default=False)) or os.environ.get("BKTX_FULL") == "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("bookkeeper", "BookKeeper releases")
    group.addoption("--full", action="store_true", help="the long forms too, every case on every release")
    group.addoption("--java-releases", metavar="R,R", help="run on exactly these BookKeeper releases")
    group.addoption(
        "--java-target", choices=_TARGETS, help="what runs Java's bookies and clients: a local JVM, or containers"
    )
    group.addoption(
        "--keep-runs",
        metavar="DIR",
        help="with --full: keep the runs of the suite and the score of mutants",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the options and the environment."""
    config.addinivalue_line("markers", "one_row: one row of the table for all parameters but the release")
    config.addinivalue_line("markers", "releases(since, until, main): the BookKeeper releases a case is for")
    if config.getoption("--keep-runs", default=None) and not is_full(config):
        raise pytest.UsageError("--keep-runs keeps whole runs: give --full, too")
    text = config.getoption("--java-releases", default=None) or os.environ.get("BKTX_JAVA_RELEASES", "")
    try:
        config.stash[_selection] = ReleaseSelection(is_full(config), parse_releases(text))
    except ValueError as error:
        raise pytest.UsageError(f"--java-releases: {error}") from error
    target = config.getoption("--java-target", default=None) or os.environ.get("BKTX_JAVA_TARGET") or _TARGETS[0]
    if target not in _TARGETS:
        raise pytest.UsageError(f"BKTX_JAVA_TARGET is {target}: write one of {', '.join(_TARGETS)}")
    config.stash[_target] = target
    config.stash[_table] = Table(config)
    config.pluginmanager.register(config.stash[_table])


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the JVM and the releases: a result without them says little."""
    try:
        origin = find_jvm().origin
    except Unavailable as missing:
        origin = f"none ({missing.reason})"
    selection = config.stash[_selection]
    releases = ", ".join(selection.releases) or ("all" if selection.full else "as each case says")
    where = ", in containers" if config.stash[_target] == "docker" else ""
    return [f"Java: {origin}{where}; releases: {releases}"]


@pytest.fixture(scope="session")
def java_target(request: pytest.FixtureRequest) -> str:
    """What runs Java, as the words that name a target begin: ``java``, or ``docker``, if there is a daemon."""
    target = request.config.stash[_target]
    if target == "docker":
        assert request.getfixturevalue("java_containers").daemon
    return target


@pytest.fixture(scope="session")
def java_containers(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    """Containers for Java, which see the directories of tests; nothing is started, or looked for, before it is used."""
    # Not entered: it would make an exception of SIGTERM, which pytest takes for the failure of a test, and goes on.
    with closing(Lifetime()) as lifetime:
        containers = Containers(lifetime, [tmp_path_factory.getbasetemp()])
        pytestconfig.stash[_containers] = containers
        yield containers


@pytest.fixture(scope="session", autouse=True)
def _java_run_by_target(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.config.stash[_target] != "docker":
        yield
        return
    with java_run_by(request.getfixturevalue("java_containers")):
        yield


@pytest.fixture(scope="module")
def java_in_containers(java_containers: Containers) -> Iterator[Containers]:
    """Whatever a module starts of Java is in containers."""
    with java_run_by(java_containers):
        yield java_containers


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each release it runs on now."""
    if _ARGUMENT not in metafunc.fixturenames:
        return
    case, default = _releases_of(metafunc.definition)
    releases = select_releases(case, metafunc.config.stash[_selection], default)
    metafunc.parametrize(_ARGUMENT, releases, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark what needs a JVM, let ``-k`` and ``-m`` choose, then leave out what is not for this run."""
    for item in items:
        if _ARGUMENT in getattr(item, "fixturenames", ()) and item.get_closest_marker("java") is None:
            item.add_marker("java")
    yield
    full = config.stash[_selection].full
    left_out = [item for item in items if _no_release_left(item) or (item.get_closest_marker("full") and not full)]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
    config.stash[_table].leave_out(left_out)


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
        outcome = PASSED if report.passed or expected else (NOT_CHECKED if report.skipped else FAILED)
        releases = _releases_of(item)[0] if _release(item) != NO_RELEASE else ()
        row = [_case(item), _release(item), outcome, _reason(report) if report.skipped else "", list(releases)]
        setattr(report, _ROW, row)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, Any]:
    """In CI an integration module must not skip itself as a whole either."""
    report = yield
    if report.skipped and in_ci() and "integration" in Path(collector.path).parts:
        report.outcome = "failed"
        report.longrepr = f"CI=true: {_reason(report)}"
    return report


class Table:
    """The rows of a run, from its reports: they come from the workers too, if several share it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._results = Results()
        self._left_out: list[tuple[str, str]] = []
        # Case to the releases it is for: what did not run of these is only known at the end.
        self._expected: dict[str, tuple[str, ...]] = {}
        self._used: dict[str, None] = {}
        """What is said of containers, in order."""

    def leave_out(self, items: list[pytest.Item]) -> None:
        """Note what is in the table and not in this run."""
        for item in items:
            if _no_release_left(item):
                self._expected[_case(item)] = _releases_of(item)[0]
            elif _in_table(item):
                self._left_out.append((_case(item), _release(item)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a part of a test, of this process or of a worker."""
        if row := getattr(report, _ROW, None):
            case, release, outcome, reason, releases = row
            self._results.record(case, release, outcome, reason)
            if releases:
                self._expected[case] = tuple(releases)

    def pytest_sessionfinish(self) -> None:
        """Send, from a worker, what is in no report."""
        containers = self._config.stash.get(_containers, None)
        self._used |= dict.fromkeys(containers.used() if containers else ())
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_LEFT_OUT] = [[list(each) for each in self._left_out], list(self._expected.items())]
            output[_USED] = list(self._used)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker sends; each of them has collected everything."""
        output = getattr(node, "workeroutput", {})
        self._used |= dict.fromkeys(output.get(_USED, ()))
        left_out, expected = output.get(_LEFT_OUT, ((), ()))
        self._left_out = [(case, release) for case, release in left_out]
        self._expected |= {case: tuple(releases) for case, releases in expected}

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table."""
        for case, release in self._left_out:
            self._results.expect(case, [release], _NOT_IN_THIS_RUN)
        for case, releases in self._expected.items():
            self._results.expect(case, releases, _NOT_IN_THIS_RUN)
        if self._results.empty:
            return
        terminalreporter.section("case by BookKeeper release")
        for line in (*self._results.render(), *self._used):
            terminalreporter.write_line(line)


def _releases_of(node: pytest.Item) -> tuple[tuple[str, ...], DefaultReleases]:
    marker = node.get_closest_marker("releases")
    arguments = dict(marker.kwargs) if marker else {}
    main = arguments.pop("main", False)
    return applicable_releases(**arguments), DefaultReleases.MAIN if main else DefaultReleases.NEWEST


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

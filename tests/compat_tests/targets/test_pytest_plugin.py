"""The plugin in a pytest of its own: selection by release, *not checked here*, and CI."""

import signal

import pytest

from compat_tests.targets.docker import containers
from compat_tests.targets.unavailable import Unavailable
from tests.sampling import only

pytest_plugins = ["pytester"]

_TESTS = """
    import pytest
    from compat_tests.targets.unavailable import Unavailable

    @pytest.mark.releases(since="4.17")
    def test_read(java_release):
        pass

    @pytest.fixture
    def bookie():
        raise Unavailable("no JVM on this machine")

    @pytest.mark.java
    def test_write(bookie):
        pass

    @pytest.mark.java
    @pytest.mark.full
    def test_long():
        pass

    def test_plain():
        pytest.skip("no reason to be here")
"""

_INI = """
    [pytest]
    markers =
        java: x
        spark: x
        crash: x
        docker: x
        full: x
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run the tests above with these arguments; ``CI`` and the other variables are as given."""
    pytester.makepyfile(test_sample=_TESTS)
    pytester.makeini(_INI)
    for name in ("BKTX_FULL", "BKTX_JAVA_RELEASES", "BKTX_JAVA_TARGET"):
        monkeypatch.delenv(name, raising=False)

    def run_with(*arguments, ci=False):
        monkeypatch.setenv("CI", "true" if ci else "")
        return pytester.runpytest("-p", "compat_tests.targets.pytest_plugin", "-p", "no:cacheprovider", *arguments)

    return run_with


@pytest.mark.slow
@pytest.mark.parametrize("workers", only(["-n", "2"], [[], ["-n", "2"]]), ids=["one process", "two workers"])
def test_a_usual_run(run, workers):
    result = run(*workers)
    result.assert_outcomes(passed=1, skipped=2, deselected=None if workers else 1)
    result.stdout.fnmatch_lines(
        [
            "*4.17.3 *4.18.0 *any",
            "sample::test_long *not checked",
            "sample::test_read *not checked *passed *-",
            "sample::test_write *not checked",
            "not checked here (1): no JVM on this machine",
            "1 passed, 0 failed, 3 not checked",
        ]
    )
    assert "test_plain " not in result.stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize("workers", only(["-n", "2"], [[], ["-n", "2"]]), ids=["one process", "two workers"])
def test_a_full_run_has_every_release_and_the_long_forms(run, workers):
    result = run("--full", *workers)
    result.assert_outcomes(passed=3, skipped=2)
    result.stdout.fnmatch_lines(["sample::test_read *passed *passed *-"])


def test_exactly_the_releases_asked_for(run):
    run("--java-releases", "4.17.3").stdout.fnmatch_lines(["sample::test_read *passed *not checked *-"])


def test_a_case_for_none_of_the_releases_asked_for_is_no_failure_in_ci(run):
    result = run("--java-releases", "4.9.2", "-k", "test_read", ci=True)
    result.assert_outcomes(deselected=4)
    result.stdout.fnmatch_lines(["*4.17.3 *4.18.0", "sample::test_read *not checked *not checked"])
    assert "test_long" not in result.stdout.str()


def test_in_ci_what_cannot_be_checked_has_failed(run):
    result = run(ci=True)
    result.assert_outcomes(passed=1, failed=0, skipped=1, errors=1, deselected=1)
    result.stdout.fnmatch_lines(["*CI=true: no JVM on this machine*", "sample::test_write *failed"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_unknown_release_stops_the_run(run):
    result = run("--java-releases", "4.17.4")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unknown BookKeeper releases*4.17.4*"])


def test_many_parameters_may_have_one_row(pytester):
    pytester.makepyfile(
        test_many="""
        import pytest

        @pytest.mark.java
        @pytest.mark.one_row
        @pytest.mark.parametrize("number", range(3))
        def test_numbers(number):
            assert number != 1
        """
    )
    pytester.makeini(_INI)
    result = pytester.runpytest("-p", "compat_tests.targets.pytest_plugin", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["many::test_numbers  failed", "0 passed, 1 failed, 0 not checked"])


def test_a_sample_is_not_kept(run, tmp_path):
    result = run("--keep-runs", str(tmp_path))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--keep-runs keeps whole runs: give --full, too"])


_CHOSEN = """
    import os
    import pytest
    from compat_tests.targets.java_runner import chosen_runner

    @pytest.mark.java
    def test_who(java_target):
        assert [java_target, type(chosen_runner()).__name__] == os.environ["EXPECTED"].split()
"""

_IN_CONTAINERS = """
    import pytest
    from compat_tests.targets import java_runner

    @pytest.mark.docker
    def test_these(java_in_containers):
        assert java_runner.chosen_runner() is java_in_containers
        assert type(java_in_containers).__name__ == "Containers"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "variable", "found"),
    [
        ((), "", "java LocalJvm"),
        (("--java-target", "docker"), "", "docker Containers"),
        ((), "docker", "docker Containers"),
        (("--java-target", "java"), "docker", "java LocalJvm"),
    ],
)
def test_what_runs_java_is_chosen(pytester, monkeypatch, arguments, variable, found):
    monkeypatch.setenv("BKTX_JAVA_TARGET", variable)
    pytester.makepyfile(test_a_first=_IN_CONTAINERS, test_chosen=_CHOSEN, test_last=_IN_CONTAINERS)
    pytester.makeini(_INI)
    monkeypatch.setenv("EXPECTED", found)
    monkeypatch.setattr(containers, "find_daemon", lambda lifetime: object())
    result = pytester.runpytest("-p", "compat_tests.targets.pytest_plugin", "-p", "no:cacheprovider", *arguments)
    result.assert_outcomes(passed=3)
    assert (", in containers" in result.stdout.str()) == found.startswith("docker")


def test_another_word_for_what_runs_java_stops_the_run(run, monkeypatch):
    monkeypatch.setenv("BKTX_JAVA_TARGET", "podman")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*BKTX_JAVA_TARGET is podman: write one of java, docker*"])


@pytest.mark.slow
@pytest.mark.parametrize("workers", only(["-n", "2"], [[], ["-n", "2"]]), ids=["one process", "two workers"])
def test_a_run_with_containers_says_which_images_they_were(pytester, workers):
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def found(java_containers):
            java_containers.used = lambda: ["4.18.0: the official image official"]
        """
    )
    pytester.makepyfile(test_one=_IN_CONTAINERS)
    pytester.makeini(_INI)
    result = pytester.runpytest("-p", "compat_tests.targets.pytest_plugin", "-p", "no:cacheprovider", *workers)
    result.stdout.fnmatch_lines(["1 passed, 0 failed, 0 not checked", "4.18.0: the official image official"])


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "outcomes"), [("", {"skipped": 1}), ("true", {"errors": 1})], ids=["here", "in CI"])
def test_without_a_daemon_what_needs_one_is_not_checked(pytester, monkeypatch, ci, outcomes):
    monkeypatch.setenv("CI", ci)

    def none(lifetime):
        raise Unavailable("no Docker here")

    monkeypatch.setattr(containers, "find_daemon", none)
    pytester.makepyfile(test_chosen=_CHOSEN)
    pytester.makeini(_INI)
    plugin = ("-p", "compat_tests.targets.pytest_plugin", "-p", "no:cacheprovider")
    result = pytester.runpytest(*plugin, "--java-target", "docker")
    result.assert_outcomes(**outcomes)
    result.stdout.fnmatch_lines(["*no Docker here*"])


_TERMINATED = """
    import os, signal

    def test_one(java_containers):
        os.kill(os.getpid(), signal.SIGTERM)

    def test_another():
        print("went on")
"""


@pytest.mark.slow
def test_a_signal_ends_a_run_with_containers(pytester):
    pytester.makepyfile(_TERMINATED)
    pytester.makeini(_INI)
    plugin = ("-p", "compat_tests.targets.pytest_plugin", "-p", "no:cacheprovider", "-s")
    result = pytester.runpytest_subprocess(*plugin)
    assert result.ret == -signal.SIGTERM
    assert "went on" not in result.stdout.str()

"""The table, and the releases that a case runs on."""

import pytest

from compat_tests.targets.results import FAILED, NO_RELEASE, NOT_CHECKED, PASSED, Results
from compat_tests.targets.selection import (
    DefaultReleases,
    ReleaseSelection,
    applicable_releases,
    parse_releases,
    select_releases,
)


def test_the_worst_outcome_of_a_cell_stays():
    results = Results()
    for outcome in (PASSED, FAILED, PASSED):
        results.record("a::b", "4.18.0", outcome)
    assert results.render()[1].split() == ["a::b", "failed"]


def test_the_table_has_releases_in_order_and_reasons_below():
    results = Results()
    results.record("read::batch", "4.18.0", PASSED)
    results.record("read::batch", "4.9.2", NOT_CHECKED, "no JVM")
    results.record("spark::read", NO_RELEASE, PASSED)
    assert results.render() == [
        "             4.9.2        4.18.0       any",
        "read::batch  not checked  passed       -",
        "spark::read  -            -            passed",
        "not checked here (1): no JVM",
        "2 passed, 0 failed, 1 not checked",
    ]


def test_releases_that_did_not_run_are_said_to_be_not_checked():
    results = Results()
    results.record("a::b", "4.18.0", PASSED)
    results.expect("a::b", ["4.17.3", "4.18.0"], "not in this run")
    assert results.render()[1].split() == ["a::b", "not", "checked", "passed"]


def test_applicable_releases_are_bounded_on_both_sides():
    assert applicable_releases(since="4.17") == ("4.17.3", "4.18.0")
    assert applicable_releases(until="4.16") == ("4.9.2", "4.14.7", "4.16.6")
    assert applicable_releases(since="4.14.7", until="4.16.6") == ("4.14.7", "4.16.6")


def test_a_usual_run_has_the_newest_or_the_main_releases_a_full_one_all():
    case = applicable_releases(since="4.14")
    assert select_releases(case, ReleaseSelection()) == ("4.18.0",)
    assert select_releases(applicable_releases(until="4.16"), ReleaseSelection()) == ("4.16.6",)
    assert select_releases(case, ReleaseSelection(), DefaultReleases.MAIN) == ("4.16.6", "4.18.0")
    assert select_releases(case, ReleaseSelection(full=True)) == case
    assert select_releases(case, ReleaseSelection(releases=("4.9.2", "4.17.3")), DefaultReleases.NEWEST) == ("4.17.3",)


def test_a_sample_is_never_empty():
    with pytest.raises(ValueError, match=r"4\.16\.6"):
        select_releases(applicable_releases(until="4.14"), ReleaseSelection(), DefaultReleases.MAIN)


def test_an_unknown_release_is_refused():
    assert parse_releases(" 4.9.2, 4.18.0,") == ("4.9.2", "4.18.0")
    with pytest.raises(ValueError, match=r"4\.17\.4"):
        parse_releases("4.17.4")

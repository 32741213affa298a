"""Divergences on record."""

import pytest

from compat_tests.judge.case import CATALOGUE
from compat_tests.judge.catalogue import load
from compat_tests.judge.known import FOLDER, Divergence, lookup, of_implementation, parse


@pytest.mark.parametrize(
    ("release", "concerned"),
    [("4.9.2", False), ("4.14.7", True), ("4.16.6", True), ("4.17.0", False), ("", True), ("4.16", True)],
)
def test_releases(release, concerned):
    divergence = Divergence("BKW-X-001", "D1", "BK#1", "EOK", "", since="4.14", until="4.16")
    assert divergence.concerns(release) is concerned


def test_lookup_by_case_and_dialect():
    entries = parse([{"case": "BKW-X-001", "dialects": ["V3"], "reference": "BK#1", "seen": "EOK"}], "here")
    assert lookup(entries, "BKW-X-001", "V3", "4.18.0") is entries[0]
    assert lookup(entries, "BKW-X-001", "V2", "4.18.0") is None
    assert lookup(entries, "BKW-X-002", "V3", "4.18.0") is None


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        (
            {"case": "BKW-X-001", "seen": "EOK", "reference": "r", "sine": "4.9"},
            "here: divergence of BKW-X-001: no such",
        ),
        ({"case": "BKW-X-001"}, "here: divergence of BKW-X-001"),
        ({}, r"here: divergence of \(no case\)"),
    ],
)
def test_a_wrong_entry_is_named(entry, error):
    with pytest.raises(ValueError, match=error):
        parse([entry], "here")


def test_all_that_come_with_the_suite_are_of_cases_that_there_are():
    load()
    for folder in FOLDER.iterdir():
        for divergence in of_implementation(folder.name):
            case = CATALOGUE[divergence.case]
            assert set(divergence.dialects) & set(case.dialects), divergence
            assert divergence.seen, divergence
            assert divergence.reference, divergence
            assert divergence.text, divergence

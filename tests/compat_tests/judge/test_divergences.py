"""Divergences on record."""

import pytest

from compat_tests.catalogue import load
from compat_tests.judge.case import CATALOGUE
from compat_tests.judge.divergences import FOLDER, Divergence, lookup, of_implementation, parse, within
from compat_tests.targets.lockfile import RELEASES
from protocol_specs.wire.status import STATUSES


@pytest.mark.parametrize(
    ("release", "concerned"),
    [("4.9.2", False), ("4.14.7", True), ("4.16.6", True), ("4.17.0", False), ("", True), ("4.16", True)],
)
def test_releases(release, concerned):
    divergence = Divergence("BKW-X-001", "D1", "BK#1", "EOK", "", since="4.14", until="4.16")
    assert divergence.concerns(release) is concerned


def test_lookup_by_case_and_dialect():
    entries = parse([{"case": "BKW-X-001", "dialects": ["V3"], "reference": "BK#1", "seen": "EOK"}], "here")
    assert lookup(entries, "BKW-X-001", "V3", "4.18.0") == entries
    assert lookup(entries, "BKW-X-001", "V2", "4.18.0") == []
    assert lookup(entries, "BKW-X-002", "V3", "4.18.0") == []


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        (
            {"case": "BKW-X-001", "seen": "EOK", "reference": "r", "sine": "4.9"},
            "here: divergence of BKW-X-001: no such",
        ),
        ({"case": "BKW-X-001"}, "here: divergence of BKW-X-001"),
        ({}, r"here: divergence of \(no case\)"),
        ({"case": "BKW-X-001", "seen": "EOK", "reference": "r", "shows": "never"}, "shows is always or sometimes"),
        ({"case": "BKW-X-001", "seen": "", "reference": "r"}, "seen = '' is no text"),
        ({"case": "BKW-X-001", "seen": 1, "reference": "r"}, "seen = 1 is no text"),
        ({"case": "BKW-X-001", "seen": "x", "reference": "r", "dialects": "V2"}, "dialects are a list of V2 and V3"),
        ({"case": "BKW-X-001", "seen": "x", "reference": "r", "dialects": ["V4"]}, "dialects are a list of V2 and V3"),
        ("BKW-X-001", "here: divergences are tables"),
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


@pytest.mark.parametrize(
    ("seen", "failure", "excused"),
    [
        ("max_lac: 1", "max_lac: 1", True),
        ("max_lac: 1", "max_lac: 17", False),
        ("1", "connecting: 127.0.0.1:40001 refused", True),  # so no such word is to be put on record
        ("1", "connecting: nothing for 10 s", False),
        ("EOK", "status: V2 ADD_ENTRY EOK ledger_id=1", True),
        ("OK", "status: V2 ADD_ENTRY EOK ledger_id=1", False),
        ("(20 bytes)", "lac_body: 0102 (20 bytes)", True),
        ("-1", "error: -16", False),
    ],
)
def test_what_is_excused_has_the_words_on_record_whole(seen, failure, excused):
    assert Divergence("BKW-X-001", "D1", "BK#1", seen, "").excuses(failure) is excused


def test_every_record_is_of_releases_that_the_case_is_for():
    load()
    for divergence in of_implementation("java"):
        case = CATALOGUE[divergence.case]
        both = [
            release
            for release in RELEASES
            if divergence.concerns(release) and within(release, case.since or "0", case.until or "999")
        ]
        assert both, divergence


_A_STATUS_ALONE = ("BKW-CRASH-029",)
"""Cases that check nothing but this status."""


def test_words_on_record_say_more_than_a_status_or_a_number():
    for folder in FOLDER.iterdir():
        for divergence in of_implementation(folder.name):
            assert len(divergence.seen) > len("EOK"), divergence
            alone = divergence.seen in {status.name for status in STATUSES}
            assert not alone or divergence.case in _A_STATUS_ALONE, divergence

"""bookkeeper_tx.bookie.cookie_plan: directories that are added."""

import os
from collections.abc import Iterable

import pytest
from attrs import evolve

from bookkeeper_tx.bookie.cookie import Cookie, CookiesDiffer
from bookkeeper_tx.bookie.cookie_plan import CookiePlan, plan_cookie
from bookkeeper_tx.errors import RefusedToStart


def cookie(*ledgers: str, indexes: Iterable[str] = (), journals: Iterable[str] = ("/j",)) -> Cookie:
    return Cookie.of_directories("b:1", list(journals), ledgers, list(indexes), "an-id")


def path(directory: str) -> str:
    return f"{directory}/current/VERSION"


def plan(
    expected: Cookie,
    stored: Cookie | None,
    found: dict[str, Cookie | None],
    *filled: str,
    expands: bool = True,
    homes: bool = False,
) -> CookiePlan:
    """Plan with the cookies found in directories, of which some hold data."""
    files = {path(each): None if there is None else there.encode() for each, there in found.items()}
    in_store = None if stored is None else stored.encode()
    return plan_cookie(expected, in_store, files, set(map(path, filled)), expands, homes)


def refusal(
    expected: Cookie,
    stored: Cookie | None,
    found: dict[str, Cookie | None],
    *filled: str,
    expands: bool = True,
    homes: bool = False,
) -> str:
    with pytest.raises(RefusedToStart) as caught:
        plan(expected, stored, found, *filled, expands=expands, homes=homes)
    return str(caught.value)


OLD, NEW = cookie("/a"), cookie("/a", "/b", "/c")


def test_new_directories_get_their_cookies_first_and_the_store_last() -> None:
    found = {"/j": OLD, "/a": OLD, "/b": None, "/c": None}
    done = plan(NEW, OLD, found, "/j", "/a")
    assert done == CookiePlan(NEW.encode(), tuple(map(path, ("/b", "/c", "/j", "/a"))), True)


def test_new_index_directories_are_taken_too() -> None:
    expected = cookie("/a", indexes=("/a", "/x"))
    done = plan(expected, OLD, {"/j": OLD, "/a": OLD, "/x": None}, "/a")
    assert done.files[0] == path("/x")
    assert "indexDirs" in refusal(cookie("/a", indexes=("/x",)), OLD, {"/j": OLD, "/a": OLD, "/x": None})


def test_without_the_setting_nothing_is_added() -> None:
    found = {"/j": OLD, "/a": OLD, "/b": None, "/c": None}
    assert "ledgerDirs" in refusal(NEW, OLD, found, expands=False)


@pytest.mark.parametrize("steps", range(6))
def test_an_expansion_that_was_cut_short_is_completed(steps: int) -> None:
    found: dict[str, Cookie | None] = {"/j": OLD, "/a": OLD, "/b": None, "/c": None}
    stored = OLD
    whole = plan(NEW, stored, found, "/j", "/a")
    for done in whole.files[:steps]:
        found[os.path.dirname(os.path.dirname(done))] = NEW
    stored = NEW if steps > len(whole.files) else OLD
    rest = plan(NEW, stored, found, "/j", "/a")
    assert rest.data == NEW.encode()
    assert rest.files == whole.files[steps:]
    assert rest.to_store == (stored is OLD)


def test_before_an_old_cookie_has_changed_the_former_configuration_is_served() -> None:
    assert plan(OLD, OLD, {"/j": OLD, "/a": OLD}, "/a", expands=False) == CookiePlan(OLD.encode())


def test_a_new_directory_with_data_is_refused() -> None:
    found = {"/j": OLD, "/a": OLD, "/b": None, "/c": None}
    assert "/c is new, but holds data" in refusal(NEW, OLD, found, "/a", "/c")
    assert "/c is new, but holds data" in refusal(NEW, OLD, found | {"/c": NEW}, "/a", "/c")


def test_a_directory_that_has_lost_its_cookie_is_not_new() -> None:
    for found in ({"/j": NEW, "/a": NEW, "/b": None, "/c": NEW}, {"/j": OLD, "/a": NEW, "/b": None, "/c": NEW}):
        assert path("/b") in refusal(NEW, NEW, found, "/a")
    assert path("/b") in refusal(NEW, OLD, {"/j": NEW, "/a": NEW, "/b": None, "/c": NEW}, "/a")
    assert path("/j") in refusal(NEW, OLD, {"/j": None, "/a": OLD, "/b": None, "/c": None}, "/a")


def test_no_directory_is_taken_away() -> None:
    assert "ledgerDirs" in refusal(OLD, NEW, {"/j": NEW, "/a": NEW}, "/a")
    assert "ledgerDirs" in refusal(cookie("/a", "/d"), NEW, {"/j": NEW, "/a": NEW, "/d": None}, "/a")


def test_journals_are_not_added() -> None:
    expected = cookie("/a", journals=("/j", "/k"))
    assert "journalDir" in refusal(expected, OLD, {"/j": OLD, "/k": None, "/a": OLD}, "/a")


def test_another_order_is_written_down() -> None:
    turned = cookie("/c", "/b", "/a")
    found = dict.fromkeys(("/j", "/a", "/b", "/c"), NEW)
    assert plan(turned, NEW, found, "/a") == CookiePlan(turned.encode(), tuple(map(path, found)), True)
    assert "ledgerDirs" in refusal(turned, NEW, found, "/a", expands=False)


def test_with_nothing_to_add_the_setting_changes_nothing() -> None:
    old = evolve(NEW, layout_version=4)
    found = dict.fromkeys(("/j", "/a", "/b", "/c"), old)
    assert plan(NEW, old, found, "/a", "/b") == CookiePlan(old.encode())


def test_a_first_start_needs_no_setting_and_a_begun_one_is_not_expanded() -> None:
    found = dict.fromkeys(("/j", "/a", "/b", "/c"))
    assert plan(NEW, None, found, expands=False) == CookiePlan(NEW.encode(), tuple(map(path, found)), True)
    assert "ledgerDirs" in refusal(NEW, None, {"/j": OLD, "/a": None, "/b": None, "/c": None})


HOMES = cookie("/a", "/b")
BOTH: dict[str, Cookie | None] = {"/j": HOMES, "/a": HOMES, "/b": HOMES}


@pytest.mark.parametrize("expands", [False, True])
@pytest.mark.parametrize(
    "expected",
    [
        cookie("/b", "/a"),
        cookie("/a", "/b", "/c"),
        cookie("/c", "/a", "/b"),
        cookie("/a"),
        cookie("/b", "/c"),
    ],
)
def test_where_ledgers_are_found_by_the_directories_neither_number_nor_order_changes(
    expected: Cookie, expands: bool
) -> None:
    for stored, found in ((HOMES, BOTH), (None, BOTH), (HOMES, dict.fromkeys(BOTH))):
        said = refusal(expected, stored, found, expands=expands, homes=True)
        assert "has /a, /b, here are" in said
        assert "name the directories as they were" in said


def test_so_it_is_with_those_of_the_indexes() -> None:
    stored = cookie("/a", "/b", indexes=("/x", "/y"))
    for indexes in (("/y", "/x"), ("/x",), ("/x", "/y", "/z")):
        said = refusal(cookie("/a", "/b", indexes=indexes), stored, {"/j": stored}, homes=True)
        assert "the order of indexDirectories" in said
    assert "indexDirectories" in refusal(cookie("/a", "/b", indexes=("/b", "/a")), HOMES, BOTH, homes=True)
    old = evolve(HOMES, layout_version=4)  # names none
    same = cookie("/a", "/b", indexes=("/x", "/y"))
    assert plan(same, old, {"/j": old}, expands=False, homes=True).data == old.encode()


def test_an_empty_directory_in_the_place_of_one_that_is_lost_is_another_matter() -> None:
    with pytest.raises(CookiesDiffer):
        plan(cookie("/a", "/c"), HOMES, {"/j": HOMES, "/a": HOMES, "/c": None}, homes=True)
    other = evolve(cookie("/b", "/a"), bookie_id="c:1")
    assert "another bookie's" in refusal(other, HOMES, BOTH, homes=True)


def test_a_start_with_the_same_directories_is_as_before() -> None:
    for expands in (False, True):
        assert plan(HOMES, HOMES, BOTH, "/a", "/b", expands=expands, homes=True) == CookiePlan(HOMES.encode())
    first = plan(HOMES, None, dict.fromkeys(BOTH), homes=True)
    assert first == CookiePlan(HOMES.encode(), tuple(map(path, BOTH)), True)

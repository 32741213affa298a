from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.bookie.cookie import Cookie, CookiesDiffer
from bookkeeper_tx.bookie.cookie_plan import CookiePlan, plan_cookie
from bookkeeper_tx.errors import RefusedToStart

OURS = Cookie.of("host:3181", "/j", "/l", "an-instance")
FILES = ("/j/current/VERSION", "/l/current/VERSION")


def plan(stored: bytes | None, *files: bytes | None, empty: bool = False) -> CookiePlan:
    return plan_cookie(OURS, stored, dict(zip(FILES, files, strict=True)), () if empty else FILES)


def refusal(stored: bytes | None, *files: bytes | None, empty: bool = False) -> str:
    with pytest.raises(RefusedToStart) as caught:
        plan(stored, *files, empty=empty)
    return str(caught.value)


def test_the_stored_form() -> None:
    assert OURS.encode() == (
        b'5\nbookieHost: "host:3181"\njournalDir: "/j"\nledgerDirs: "1\\t/l"\ninstanceId: "an-instance"\n'
    )
    assert Cookie.decode(OURS.encode(), "here") == OURS


def test_three_bare_lines_are_version_3() -> None:
    old = Cookie.decode(b"3\nhost:3181\n/j\n1\t/l\n", "here")
    Cookie.of("host:3181", "/j", "/l", None).verify(old, "here")
    assert old.layout_version == 3
    with pytest.raises(CookiesDiffer, match=r"instanceId\): '' there, 'an-instance' here"):
        OURS.verify(old, "here")


def test_a_cluster_without_an_instance_id() -> None:
    cookie = Cookie.of("b", "/j", "/l", None)
    assert b"instanceId" not in cookie.encode()
    cookie.verify(Cookie.decode(cookie.encode(), "here"), "here")


@pytest.mark.parametrize("data", [b"", b"2\nhost\n/j\n1\t/l\n", b"3\nhost\n/j", b'6\nbookieHost: "b"\n', b"5\n\xff"])
def test_what_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(RefusedToStart, match="somewhere"):
        Cookie.decode(data, "somewhere")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"bookie_id": "other:3181"}, "bookieHost"),
        ({"journal_directories": "/j,/j2"}, "journalDir"),
        ({"ledger_directories": "2\t/l\t/l2"}, "ledgerDirs"),
        ({"index_directories": "1\t/i"}, "indexDirs"),
        ({"instance_id": ""}, "instanceId"),
        ({"instance_id": "another"}, "instanceId"),
    ],
)
def test_the_refusal_names_the_field(changes: dict[str, Any], field: str) -> None:
    other = evolve(OURS, **changes).encode()
    for text in (refusal(other, OURS.encode(), OURS.encode()), refusal(None, OURS.encode(), other)):
        assert field in text
        assert text.count(" there, ") == 1


def test_cookies_of_older_bookies_and_with_index_directories_are_ours_too() -> None:
    old = evolve(OURS, layout_version=4).encode()
    with_index = evolve(OURS, index_directories="1\t/l").encode()
    assert plan(old, old, old) == CookiePlan(old)
    assert plan(with_index, with_index, old) == CookiePlan(with_index)


def test_an_older_cookie_does_not_say_which_index_directories_there_are() -> None:
    old = evolve(OURS, layout_version=4).encode()
    ours = evolve(OURS, index_directories="1\t/i")
    files: dict[str, bytes | None] = dict.fromkeys((*FILES, "/i/current/VERSION"), old)
    assert plan_cookie(ours, old, files, files) == CookiePlan(old)
    with pytest.raises(RefusedToStart, match="there is no cookie /i"):
        plan_cookie(ours, old, {**files, "/i/current/VERSION": None}, files)
    with pytest.raises(RefusedToStart, match="indexDirs"):
        plan_cookie(ours, old, files, files, expands=True)


def test_the_first_start_writes_everything() -> None:
    assert plan(None, None, None, empty=True) == CookiePlan(OURS.encode(), FILES, True)


def test_a_first_start_that_was_cut_short_is_completed() -> None:
    ours = OURS.encode()
    assert plan(None, ours, None, empty=True) == CookiePlan(ours, FILES[1:], True)
    assert plan(None, ours, ours, empty=True) == CookiePlan(ours, (), True)


def test_every_later_start_writes_nothing() -> None:
    ours = OURS.encode()
    assert plan(ours, ours, ours) == CookiePlan(ours)
    assert plan(ours, ours, ours, empty=True) == CookiePlan(ours)


@pytest.mark.parametrize("files", [(None, None), (OURS.encode(), None)])
@pytest.mark.parametrize("empty", [False, True])
def test_empty_directories_of_a_known_bookie_are_refused(files: tuple[bytes | None, ...], empty: bool) -> None:
    text = refusal(OURS.encode(), *files, empty=empty)
    assert FILES[len([each for each in files if each])] in text
    assert "host:3181" in text


@pytest.mark.parametrize("files", [(None, None), (OURS.encode(), OURS.encode())])
def test_data_that_the_store_does_not_know_is_refused(files: tuple[bytes | None, ...]) -> None:
    assert "metadata URI" in refusal(None, *files)


def test_several_directories_are_listed_as_java_does() -> None:
    made = Cookie.of_directories("b:1", ["/j1", "/j2"], ["/l1", "/l2"], ["/i1"], "an-id")
    assert made.encode() == (
        b'5\nbookieHost: "b:1"\njournalDir: "/j1,/j2"\nledgerDirs: "2\\t/l1\\t/l2"\n'
        b'instanceId: "an-id"\nindexDirs: "1\\t/i1"\n'
    )
    assert Cookie.of_directories("b:1", ["/j"], ["/l"], [], None) == Cookie.of("b:1", "/j", "/l", None)

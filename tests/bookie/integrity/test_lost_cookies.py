import pytest
from attrs import evolve

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.integrity.lost_cookies import Stamps, lost_cookies
from bookkeeper_tx.errors import RefusedToStart

MINE = Cookie.of("b1", "/j", "/l", "cluster")
FILES = {"/j/current/VERSION": MINE.encode(), "/l/current/VERSION": MINE.encode()}


def test_cookies_that_fit_are_left_alone() -> None:
    assert lost_cookies(MINE, MINE.encode(), 3, FILES, stamped=True) is None


@pytest.mark.parametrize(
    ("files", "stored", "reason"),
    [
        (FILES | {"/l/current/VERSION": None}, MINE, "there is no cookie /l/current/VERSION"),
        (dict.fromkeys(FILES), MINE, "no cookie /j/current/VERSION; there is no cookie /l/current/VERSION"),
        (FILES, evolve(MINE, ledger_directories="1\t/old"), "the cookie in the metadata store names other directories"),
        (
            FILES | {"/j/current/VERSION": evolve(MINE, journal_directories="/old").encode()},
            MINE,
            "the cookie in /j/current/VERSION names other directories",
        ),
    ],
)
def test_what_is_gone_or_names_other_directories_is_written_anew_if_that_is_allowed(
    files: dict[str, bytes | None], stored: Cookie, reason: str
) -> None:
    found = lost_cookies(MINE, stored.encode(), 3, files, stamped=True)
    assert isinstance(found, Stamps)
    assert (found.data, found.files, found.version) == (MINE.encode(), tuple(files), 3)
    assert found.reason.endswith(reason)
    with pytest.raises(RefusedToStart, match=r"set dataIntegrityStampMissingCookies=true, and this bookie b1 copies"):
        lost_cookies(MINE, stored.encode(), 3, files, stamped=False)


@pytest.mark.parametrize("other", [evolve(MINE, bookie_id="b2"), evolve(MINE, instance_id="another")])
def test_the_directory_of_another_bookie_and_that_of_another_cluster_are_not_taken(other: Cookie) -> None:
    with pytest.raises(RefusedToStart, match="another bookie's"):
        lost_cookies(MINE, MINE.encode(), 3, FILES | {"/l/current/VERSION": other.encode()}, stamped=True)
    with pytest.raises(RefusedToStart, match="the metadata store is another bookie's"):
        lost_cookies(MINE, other.encode(), 3, dict.fromkeys(FILES), stamped=True)


def test_a_cluster_without_an_id_cannot_be_told_from_others() -> None:
    nameless = evolve(MINE, instance_id="")
    with pytest.raises(RefusedToStart, match="no instance id"):
        lost_cookies(nameless, nameless.encode(), 0, dict.fromkeys(FILES), stamped=True)

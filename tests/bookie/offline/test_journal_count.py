"""Commands on a bookie's files want all of its journals."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.errors import InvalidArgument


def held(directory: Path, *journals: str) -> None:
    with Places(tuple(f"{directory}/{each}" for each in journals), (f"{directory}/l",)).held(Disk()):
        pass


@pytest.fixture
def made(tmp_path: Path) -> Path:
    for name in ("j0", "j1", "l"):
        (tmp_path / name / "current").mkdir(parents=True)
    return tmp_path


def test_the_names_of_the_marks_tell_how_many_there_are(made: Path) -> None:
    for number in range(2):
        (made / "l" / "current" / f"lastMark.{number}").write_bytes(b"")
    held(made, "j0", "j1")
    for journals in (("j0",), ("l",)):
        with pytest.raises(InvalidArgument, match="another number of journal directories than 1: name all"):
            held(made, *journals)


def test_one_mark_is_that_of_one_journal(made: Path) -> None:
    (made / "l" / "current" / "lastMark").write_bytes(b"")
    held(made, "j0")
    with pytest.raises(InvalidArgument, match="than 2"):
        held(made, "j0", "j1")


def test_the_cookie_tells_how_many_there_are_and_their_order(made: Path) -> None:
    journals = [f"{made}/j0", f"{made}/j1"]
    cookie = Cookie.of_directories("b:1", journals, [f"{made}/l"], [], "an-id")
    (made / "l" / "current" / "VERSION").write_bytes(cookie.encode())
    (made / "l" / "current" / "lastMark").write_bytes(b"")  # of before there were two
    held(made, "j0", "j1")
    for given in (("j0",), ("j1", "j0")):
        with pytest.raises(InvalidArgument, match=f"with 2 journal directories, {journals[0]}, {journals[1]}; given"):
            held(made, *given)


def test_directories_that_were_moved_are_taken(made: Path) -> None:
    (made / "l" / "current" / "VERSION").write_bytes(Cookie.of("b:1", "/old/j", "/old/l", None).encode())
    held(made, "j0")
    with pytest.raises(InvalidArgument, match="with 1 journal directories, /old/j; given"):
        held(made, "l")


def test_a_damaged_cookie_tells_nothing(made: Path) -> None:
    (made / "l" / "current" / "VERSION").write_bytes(b"rubbish")
    held(made, "j0")

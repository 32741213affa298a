"""Commands on a bookie's files want all of its ledger and index directories."""

import os
from pathlib import Path

import pytest

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.ledger_count import require_order
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.errors import InvalidArgument

NAMES = ("j", "a", "b", "x", "y")


def made(directory: Path, ledgers: str, indexes: str) -> Path:
    """Make directories of a bookie with these ledger and index directories, which were elsewhere then."""
    old = [[f"/old/{name}" for name in names.split()] for names in ("j", ledgers, indexes)]
    cookie = Cookie.of_directories("b:1", *old, None).encode()
    for name in NAMES:
        (directory / name / "current").mkdir(parents=True)
        (directory / name / "current" / "VERSION").write_bytes(cookie)
    return directory


def held(directory: Path, ledgers: str, indexes: str = "") -> None:
    kinds = [tuple(f"{directory}/{name}" for name in names.split()) for names in ("j", ledgers, indexes)]
    with Places(*kinds).held(Disk()):
        pass


def refusal(directory: Path, ledgers: str, indexes: str = "") -> str:
    with pytest.raises(InvalidArgument) as caught:
        held(directory, ledgers, indexes)
    return str(caught.value)


def test_all_ledger_directories_are_named(tmp_path: Path) -> None:
    bookie = made(tmp_path, "a b", "")
    held(bookie, "a b")
    text = refusal(bookie, "a")
    assert f"2 ledger directories, /old/a, /old/b; given: {tmp_path}/a.  Name all of them, with --data" in text
    assert "--data" in refusal(bookie, "a b x")
    assert "2 index directories" in refusal(bookie, "a b", "x")


def test_all_index_directories_are_named(tmp_path: Path) -> None:
    bookie = made(tmp_path, "a", "x y")
    held(bookie, "a", "x y")
    assert "2 index directories, /old/x, /old/y" in refusal(bookie, "a", "x")
    assert "--index-dir" in refusal(bookie, "a")


def test_a_cookie_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    bookie = made(tmp_path, "a b", "")
    for name in NAMES:
        (bookie / name / "current" / "VERSION").write_bytes(b"?")
    held(bookie, "a")


def order_of(
    directory: Path,
    *given: str,
    known: tuple[str, ...] = ("a", "b"),
    indexes: tuple[str, ...] = (),
    known_indexes: tuple[str, ...] = (),
) -> None:
    """Require the order of the directories ``given`` and ``indexes``, whose cookies have the ``known`` ones."""
    paths, index_paths = ([os.path.join(directory, name) for name in names] for names in (known, known_indexes))
    cookie = Cookie.of_directories("b:1", [str(directory / "j")], paths, index_paths, None).encode()
    for name in NAMES:
        (directory / name / "current").mkdir(parents=True, exist_ok=True)
        (directory / name / "current" / "VERSION").write_bytes(cookie)
    currents = [[os.path.join(directory, name, "current") for name in names] for names in (given, indexes or given)]
    require_order(Disk(), *currents)


@pytest.mark.parametrize("known", [("a", "b"), ("a/", "b/"), ("x/../a", "b"), ("link/a", "link/b")])
@pytest.mark.parametrize(
    "given", [("a", "b"), ("a/", "b"), ("link/a", "link/b"), ("b/../a", "b"), ("x", "b"), ("a", "x"), ("y", "x")]
)
def test_the_order_of_the_ledger_directories_is_that_of_the_cookie_however_they_are_spelled(
    tmp_path: Path, known: tuple[str, str], given: tuple[str, str]
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    order_of(tmp_path, *given, known=known)
    first, second = given
    if given != ("y", "x"):
        with pytest.raises(InvalidArgument, match="in the order of the cookie"):
            order_of(tmp_path, second, first, known=known)


def test_so_is_that_of_the_index_directories(tmp_path: Path) -> None:
    order_of(tmp_path, "a", "b", indexes=("x", "y"), known_indexes=("x", "y"))
    with pytest.raises(InvalidArgument, match="index directories in the order of the cookie"):
        order_of(tmp_path, "a", "b", indexes=("y", "x"), known_indexes=("x", "y"))


def test_without_a_cookie_any_order_will_do(tmp_path: Path) -> None:
    currents = [str(tmp_path / "b" / "current"), str(tmp_path / "a" / "current")]
    require_order(Disk(), currents, currents)

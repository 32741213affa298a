"""Commands on a bookie's files want directories of one bookie only."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.errors import InvalidArgument


def made(directory: Path, **owners: tuple[str, str | None]) -> None:
    """Make directories with the cookies of bookies that have two ledger directories; by name: its id, its cluster."""
    for name, (bookie_id, instance_id) in owners.items():
        cookie = Cookie.of_directories(bookie_id, ["/j"], ["/l1", "/l2"], [], instance_id)
        (directory / name / "current").mkdir(parents=True)
        (directory / name / "current" / "VERSION").write_bytes(cookie.encode())


def hold(directory: Path, writing: bool = True) -> None:
    places = Places((f"{directory}/j",), (f"{directory}/a", f"{directory}/b"))
    with places.held(Disk(), writing):
        pass


@pytest.mark.parametrize("writing", [True, False])
@pytest.mark.parametrize("other", ["j", "a", "b"])
def test_directories_of_two_bookies_are_refused(tmp_path: Path, other: str, writing: bool) -> None:
    made(tmp_path, **{name: ("two:2" if name == other else "one:1", "i") for name in "jab"})
    with pytest.raises(InvalidArgument, match=f"{tmp_path}/{other}/current is of bookie two:2"):
        hold(tmp_path, writing)
    assert not list(tmp_path.rglob("bookie.lock"))


def test_directories_of_two_clusters_are_refused(tmp_path: Path) -> None:
    made(tmp_path, j=("b:1", "i"), a=("b:1", "i"), b=("b:1", "k"))
    with pytest.raises(InvalidArgument, match=f"a bookie of cluster i; {tmp_path}/b/current is of .* cluster k"):
        hold(tmp_path)


def test_a_cookie_of_an_old_release_or_that_cannot_be_read_is_no_other_bookies(tmp_path: Path) -> None:
    made(tmp_path, j=("b:1", None), a=("b:1", "i"), b=("b:1", "i"))
    hold(tmp_path)
    (tmp_path / "j" / "current" / "VERSION").write_bytes(b"?")
    hold(tmp_path)
    (tmp_path / "j" / "current" / "VERSION").unlink()
    hold(tmp_path)

"""Where the files of a bookie are."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.errors import InvalidArgument


def test_index_files_are_in_the_ledger_directories_unless_others_are_named() -> None:
    assert Places(("/j",), ("/l", "/l", "/m")).index_currents == ["/l/current", "/m/current"]
    places = Places(("/j",), ("/l",), ("/i",))
    assert places.index_currents == ["/i/current"]
    assert (places.journal_currents, places.ledger_currents) == (["/j/current"], ["/l/current"])
    assert places.every == ("/j", "/l", "/i")


def test_every_directory_must_be_a_bookies(tmp_path: Path) -> None:
    for name in ("j", "l"):
        (tmp_path / name / "current").mkdir(parents=True)
    places = Places((f"{tmp_path}/j",), (f"{tmp_path}/l",), (f"{tmp_path}/i",))
    with pytest.raises(InvalidArgument, match=f"{tmp_path}/i is not the directory of a bookie"), places.held(Disk()):
        pass
    (tmp_path / "i" / "current").mkdir(parents=True)
    with places.held(Disk(), writing=True):
        assert all((tmp_path / name / "bookie.lock").exists() for name in ("j", "l", "i"))

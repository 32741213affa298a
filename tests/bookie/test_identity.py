"""bookkeeper_tx.bookie.identity: which cookies are written at a start, and when."""

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.directories import Directories
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.identity import Identity
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import MetadataConflict, RefusedToStart
from tests.bookie.workers import InlineWorker
from tests.conftest import result_of
from tests.metadata.zookeeper.zookeeper_world import World

BOOKIE_ID = "127.0.0.1:3181"


class Bookie:
    """A bookie as far as its cookies go; it may be started again."""

    def __init__(self, tmp_path: Path, world: World, **settings: Any) -> None:
        self.journal, self.ledger = tmp_path / "j", tmp_path / "l"
        config = BookieConfig(
            metadata_uri="", journal_directory=str(self.journal), ledger_directory=str(self.ledger), **settings
        )
        self.directories = Directories.of(Disk(), config)
        self.directories.open()
        self.store, _ = world.unstarted()
        self.identity = Identity(config, self.store, self.directories, BOOKIE_ID)

    def establish(self) -> None:
        result_of(Deferred.fromCoroutine(self.identity.establish()))

    def stamp(self) -> None:
        result_of(Deferred.fromCoroutine(self.identity.stamp()))

    def cookies(self) -> list[bytes | None]:
        """Return that in the store, then those of the directories."""
        stored = result_of(self.store.read_cookie(BOOKIE_ID))
        return [None if stored is None else stored[0], *self.directories.read_cookies().values()]

    def lose(self, which: Path) -> None:
        (which / "current" / "VERSION").unlink()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def checking(tmp_path: Path, world: World) -> Any:
    """Make a bookie that checks its data, started anew each time."""
    made: list[Bookie] = []

    def start(**settings: Any) -> Bookie:
        while made:
            made.pop().directories.close()
        allowed = {"data_integrity_checking": True, "data_integrity_stamp_missing_cookies": True} | settings
        bookie = Bookie(tmp_path, world, **allowed)
        made.append(bookie)
        return bookie

    yield start
    while made:
        made.pop().directories.close()


def test_the_first_start_of_a_bookie_that_checks_is_that_of_any(checking: Any) -> None:
    for _ in range(2):
        bookie = checking()
        bookie.establish()
        assert bookie.identity.lost is None
        assert None not in bookie.cookies()
        assert len(set(bookie.cookies())) == 1
        bookie.directories.check()


def test_cookies_that_are_lost_are_written_when_they_may_be_the_one_in_the_store_first(checking: Any) -> None:
    first = checking()
    first.establish()
    first.lose(first.ledger)
    for _ in range(2):
        bookie = checking()
        bookie.establish()
        assert bookie.identity.lost is not None
        assert bookie.cookies().count(None) == 1, "until its ledgers are marked"
    written: list[str] = []
    write_cookie, write_cookies = bookie.store.write_cookie, bookie.directories.write_cookies
    bookie.store.write_cookie = lambda *args: (written.append("store"), write_cookie(*args))[1]
    bookie.directories.write_cookies = lambda *args: (written.append("files"), write_cookies(*args))[1]
    bookie.stamp()
    assert written == ["store", "files"]
    assert None not in bookie.cookies()
    again = checking()
    again.establish()
    assert again.identity.lost is None


def test_a_new_directory_is_no_loss_if_storage_may_expand(tmp_path: Path, checking: Any) -> None:
    checking().establish()
    new = tmp_path / "new"
    expanding = {"more_ledger_directories": [str(new)], "data_integrity_stamp_missing_cookies": False}
    with pytest.raises(RefusedToStart, match="no cookie"):
        checking(**expanding).establish()
    for _ in range(2):
        expanded = checking(storage_expansion_allowed=True, **expanding)
        expanded.establish()
        assert expanded.identity.lost is None
        assert None not in expanded.cookies()
        assert len(set(expanded.cookies())) == 1
    expanded.lose(new)
    with pytest.raises(RefusedToStart, match="no cookie"):
        checking(storage_expansion_allowed=True, **expanding).establish()
    wiped = checking(storage_expansion_allowed=True, more_ledger_directories=[str(new)])
    wiped.establish()
    assert wiped.identity.lost is not None


def test_a_new_directory_that_holds_data_is_refused_also_if_cookies_may_be_written(
    tmp_path: Path, checking: Any
) -> None:
    checking().establish()
    log = tmp_path / "new" / "current" / "7.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"BKLO")
    with pytest.raises(RefusedToStart, match="is new, but holds data"):
        checking(more_ledger_directories=(str(tmp_path / "new"),), storage_expansion_allowed=True).establish()


def test_a_directory_that_is_left_out_but_still_there_is_not_lost(tmp_path: Path, checking: Any) -> None:
    two = tmp_path / "two"
    checking(more_ledger_directories=(str(two),)).establish()
    with pytest.raises(RefusedToStart, match=r"two/current/VERSION .* name it again, or move it away"):
        checking().establish()
    two.rename(tmp_path / "away")
    bookie = checking()
    bookie.establish()
    assert bookie.identity.lost is not None
    (two / "current").mkdir(parents=True)
    other = Cookie.of("another", "/j", str(two), bookie.identity.instance_id)
    (two / "current" / "VERSION").write_bytes(other.encode())
    checking().establish()


def test_a_directory_that_is_written_in_another_way_is_not_left_out(tmp_path: Path, checking: Any) -> None:
    two = tmp_path / "two"
    checking(more_ledger_directories=(f"{two}/",)).establish()
    bookie = checking(more_ledger_directories=(str(two),))
    bookie.establish()
    assert bookie.identity.lost is not None


def test_a_bookie_that_may_not_write_them_says_so(checking: Any) -> None:
    first = checking()
    first.establish()
    first.lose(first.journal)
    with pytest.raises(RefusedToStart, match="dataIntegrityStampMissingCookies=true"):
        checking(data_integrity_stamp_missing_cookies=False).establish()


def test_data_that_the_store_does_not_know_is_another_clusters(checking: Any) -> None:
    first = checking()
    first.establish()
    (first.ledger / "current" / "0.log").write_bytes(b"entries")
    _, version = result_of(first.store.read_cookie(BOOKIE_ID))
    result_of(first.store.delete_cookie(BOOKIE_ID, version))
    with pytest.raises(RefusedToStart, match="does not know bookie"):
        checking().establish()


def test_a_cookie_that_is_lost_while_the_bookie_runs_is_not_written(checking: Any) -> None:
    bookie = checking()
    bookie.establish()
    checked = Deferred.fromCoroutine(bookie.identity.check(InlineWorker().run))
    result_of(checked)
    bookie.lose(bookie.ledger)
    with pytest.raises(RefusedToStart, match="start it again"):
        result_of(Deferred.fromCoroutine(bookie.identity.check(InlineWorker().run)))
    assert None in bookie.cookies()


def test_a_cookie_that_another_process_has_written_meanwhile_is_left(checking: Any) -> None:
    first = checking()
    first.establish()
    first.lose(first.ledger)
    bookie = checking()
    bookie.establish()
    data, version = result_of(bookie.store.read_cookie(BOOKIE_ID))
    result_of(bookie.store.write_cookie(BOOKIE_ID, Cookie.decode(data, "").encode(), version))
    with pytest.raises(MetadataConflict):
        bookie.stamp()
    assert None in bookie.cookies()

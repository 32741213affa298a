import os
import shutil
from pathlib import Path

import pytest

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.directories import Directories, DirectoryInUse, DirectoryLost, unused
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.crashing_disk import CrashingDisk


def opened(journal: Path, ledger: Path | None = None) -> Directories:
    directories = Directories(Disk(), str(journal), str(ledger or journal))
    directories.open()
    return directories


def refusal(journal: Path, ledger: Path | None = None) -> str:
    with pytest.raises(RefusedToStart) as caught:
        opened(journal, ledger)
    return str(caught.value)


def put(path: Path, *names: str) -> None:
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(b"")


def test_missing_directories_are_made(tmp_path: Path) -> None:
    directories = opened(tmp_path / "a" / "journal", tmp_path / "ledgers")
    assert directories.journal == str(tmp_path / "a" / "journal" / "current")
    assert directories.ledgers[0] == str(tmp_path / "ledgers" / "current")
    assert os.path.isdir(directories.journal)
    assert os.path.isdir(directories.ledgers[0])


def test_one_directory_for_both(tmp_path: Path) -> None:
    directories = opened(tmp_path)
    assert directories.journal == directories.ledgers[0] == str(tmp_path / "current")


def test_a_second_bookie_is_refused_until_the_first_has_stopped(tmp_path: Path) -> None:
    first = opened(tmp_path / "j", tmp_path / "l")
    assert "already running" in refusal(tmp_path / "x", tmp_path / "l")
    assert str(tmp_path / "j") in refusal(tmp_path / "j", tmp_path / "x")
    first.close()
    opened(tmp_path / "l", tmp_path / "x").close()
    opened(tmp_path / "j", tmp_path / "l")


@pytest.mark.parametrize("name", ["1a.txn", "0.log", "VERSION", "5.idx"])
def test_a_layout_without_current_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)
    assert name in refusal(tmp_path)


@pytest.mark.parametrize("name", ["ledgers/CURRENT", "locations/CURRENT"])
def test_databases_of_another_storage_are_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path / "l", f"current/{name}")
    text = refusal(tmp_path / "j", tmp_path / "l")
    assert str(tmp_path / "l" / "current" / os.path.dirname(name)) in text


def test_several_journals_have_a_directory_each(tmp_path: Path) -> None:
    first, second, ledger = (str(tmp_path / name) for name in ("j1", "j2", "l"))
    directories = Directories(Disk(), first, ledger, more_journals=[second])
    directories.open()
    assert directories.more_journals == [f"{second}/current"]
    with pytest.raises(RefusedToStart, match="already running"):
        Directories(Disk(), second, ledger).open()
    directories.close()
    for name in ("lastMark.0", "lastMark.1"):
        Disk().replace(f"{ledger}/current/{name}", bytes(16))
    directories.open()
    directories.close()
    with pytest.raises(RefusedToStart, match="another number of journal directories than 1"):
        Directories(Disk(), first, ledger).open()


def test_marks_of_several_journals_are_refused(tmp_path: Path) -> None:
    put(tmp_path, "current/lastMark.1")
    assert "lastMark.1" in refusal(tmp_path)


def test_what_is_ours_or_harmless_is_taken(tmp_path: Path) -> None:
    put(tmp_path, "lost+found/x", "current/1.txn", "current/0.log", "current/lastMark", "current/lastMark.new")
    opened(tmp_path)


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "file")
    assert str(tmp_path / "file") in refusal(tmp_path / "file")
    assert str(tmp_path / "file" / "x") in refusal(tmp_path / "file" / "x")


def test_cookies_from_the_first_start_on(tmp_path: Path) -> None:
    directories = opened(tmp_path / "j", tmp_path / "l")
    cookie = Cookie.of("b:1", str(tmp_path / "j"), str(tmp_path / "l"), "i")
    plan = directories.plan_cookie(cookie, None)
    directories.write_cookies(plan)
    assert plan.to_store
    for name in "jl":
        assert (tmp_path / name / "current" / "VERSION").read_bytes() == cookie.encode()
    assert directories.plan_cookie(cookie, None).files == ()
    put(tmp_path, "j/current/1.txn")
    assert directories.plan_cookie(cookie, cookie.encode()).files == ()
    with pytest.raises(RefusedToStart, match="metadata URI"):
        directories.plan_cookie(cookie, None)
    (tmp_path / "l" / "current" / "VERSION").unlink()
    with pytest.raises(RefusedToStart, match="no cookie"):
        directories.plan_cookie(cookie, cookie.encode())


@pytest.mark.parametrize("has_lock", [True, False])
def test_a_read_only_file_system_is_noticed(has_lock: bool) -> None:
    """A directory that only Java has used has no lock."""
    disk = CrashingDisk()
    first = Directories(disk, "/j", "/l")
    first.open()
    assert not first.read_only
    disk.restart()
    if not has_lock:
        for name in "jl":
            disk.remove(f"/{name}/bookie.lock")
    disk.read_only = True
    again = Directories(disk, "/j", "/l")
    again.open()
    assert again.read_only
    again.check()
    if has_lock:
        with pytest.raises(RefusedToStart, match="already running on /j"):
            Directories(disk, "/j", "/x").open()
    with pytest.raises(RefusedToStart, match=r"directory /x cannot be used: .*Read-only file system"):
        Directories(disk, "/x", "/x").open()


@pytest.mark.parametrize("change", ["removed", "renamed", "emptied", "another cookie"])
def test_a_directory_that_is_lost_is_noticed(tmp_path: Path, change: str) -> None:
    directories = opened(tmp_path / "data")
    cookie = Cookie.of("b:1", str(tmp_path / "data"), str(tmp_path / "data"), "id")
    directories.write_cookies(directories.plan_cookie(cookie, None))
    directories.check()
    current = tmp_path / "data" / "current"
    if change == "removed":
        shutil.rmtree(current)
    elif change == "renamed":
        shutil.copytree(current, tmp_path / "other")
        current.rename(tmp_path / "data" / "former")
        (tmp_path / "other").rename(current)
    elif change == "emptied":
        (current / "VERSION").unlink()
    else:
        (current / "VERSION").write_bytes(b"4\n")
    with pytest.raises(DirectoryLost, match="current"):
        directories.check()
    directories.close()
    directories.check()


def test_directories_of_a_killed_start_are_made_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "current").mkdir(parents=True)
    synced: list[str] = []
    monkeypatch.setattr(Disk, "sync_directory", lambda disk, path: synced.append(path))
    opened(tmp_path / "data").close()
    assert synced == [str(tmp_path / "data")]


def in_use(directory: Path, writing: bool) -> str:
    with pytest.raises(DirectoryInUse) as caught, unused(Disk(), [str(directory)], writing):
        pass
    return str(caught.value)


def test_a_command_does_not_work_on_the_files_of_a_running_bookie(tmp_path: Path) -> None:
    running = opened(tmp_path / "j", tmp_path / "l")
    for each in ("j", "l"):
        assert f"running on {tmp_path / each}: stop it first" in in_use(tmp_path / each, writing=True)
        assert "stop it first" in in_use(tmp_path / each, writing=False)
    running.close()
    with unused(Disk(), [str(tmp_path / "j"), str(tmp_path / "l")], writing=True):
        pass


@pytest.mark.parametrize("writing", [False, True])
def test_a_bookie_does_not_start_while_a_command_works_on_its_files(tmp_path: Path, writing: bool) -> None:
    opened(tmp_path).close()
    with unused(Disk(), [str(tmp_path)], writing):
        assert "a command on its files, is already running" in refusal(tmp_path)
    opened(tmp_path).close()


def test_commands_that_read_are_there_together_and_one_that_writes_is_alone(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with unused(Disk(), [str(tmp_path)]), unused(Disk(), [str(tmp_path), str(tmp_path)]):
        assert "another command" in in_use(tmp_path, writing=True)
    with unused(Disk(), [str(tmp_path)], writing=True):
        assert "a command that changes its files" in in_use(tmp_path, writing=False)


def test_a_command_that_reads_leaves_nothing_behind(tmp_path: Path) -> None:
    with unused(Disk(), [str(tmp_path)]):
        pass
    assert list(tmp_path.iterdir()) == []


def test_index_files_are_refused_by_db_ledger_storage(tmp_path: Path) -> None:
    put(tmp_path / "current", "12/7/12345.new")
    db = Directories(Disk(), str(tmp_path), str(tmp_path), "DbLedgerStorage")
    db.open()
    db.close()
    for name in ("0/7/7.idx", "00000000/00000001/00000000/00000007.idx"):
        put(tmp_path / "current", name)
        with pytest.raises(RefusedToStart, match=rf"current/{name} was written by another storage"):
            db.open()
        (tmp_path / "current" / name).unlink()


def test_index_files_beside_databases_are_leftovers(tmp_path: Path) -> None:
    put(tmp_path / "current", "0/7/7.idx", "ledgers/CURRENT", "locations/CURRENT")
    Directories(Disk(), str(tmp_path), str(tmp_path), "DbLedgerStorage").open()


def test_index_files_beside_an_emptied_database_are_no_leftovers(tmp_path: Path) -> None:
    put(tmp_path / "current", "0/7/7.idx")
    (tmp_path / "current" / "ledgers").mkdir()
    with pytest.raises(RefusedToStart, match=r"7\.idx was written by another storage"):
        Directories(Disk(), str(tmp_path), str(tmp_path), "DbLedgerStorage").open()


def test_several_ledger_and_index_directories(tmp_path: Path) -> None:
    journal, one, two, index = (str(tmp_path / name) for name in ("j", "l1", "l2", "i"))
    directories = Directories(Disk(), journal, one, more_ledgers=[two], indexes=[index])
    directories.open()
    assert directories.ledgers == [f"{one}/current", f"{two}/current"]
    assert directories.indexes == [f"{index}/current"]
    for path in (two, index):
        with pytest.raises(RefusedToStart, match="already running"):
            Directories(Disk(), str(tmp_path / "x"), path).open()
    cookie = Cookie.of_directories("b:1", [journal], [one, two], [index], "i")
    directories.write_cookies(directories.plan_cookie(cookie, None))
    assert {path.parent.parent.name for path in tmp_path.rglob("VERSION")} == {"j", "l1", "l2", "i"}
    assert directories.former_id == "b:1"
    shutil.rmtree(index)
    with pytest.raises(DirectoryLost, match=index):
        directories.check()
    shutil.rmtree(one)
    Path(one).mkdir()
    (Path(one) / "current").symlink_to("current")
    with pytest.raises(DirectoryLost, match=index):
        directories.check()  # though the disk of the one before it does not tell
    directories.close()
    assert Directories(Disk(), journal, one, more_ledgers=[two]).indexes == [f"{one}/current", f"{two}/current"]


def test_a_directory_that_was_taken_away_or_changed_refuses_the_start(tmp_path: Path) -> None:
    journal, one, two = (str(tmp_path / name) for name in ("j", "l1", "l2"))
    cookie = Cookie.of_directories("b:1", [journal], [one, two], [], "i")
    directories = Directories(Disk(), journal, one, more_ledgers=[two], expands=True)
    directories.open()
    directories.write_cookies(directories.plan_cookie(cookie, None))
    put(tmp_path / "l1", "current/0.log")
    shutil.rmtree(two)
    directories.close()
    directories.open()
    with pytest.raises(RefusedToStart, match=f"no cookie {two}/current/VERSION"):
        directories.plan_cookie(cookie, cookie.encode())
    (tmp_path / "l2" / "current" / "VERSION").write_bytes(Cookie.of("b:2", "/x", "/y", "i").encode())
    with pytest.raises(RefusedToStart, match="another bookie's; bookie id"):
        directories.plan_cookie(cookie, cookie.encode())
    directories.close()


def test_databases_outside_the_index_directory_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "l", "current/ledgers/CURRENT")
    journal, ledger, index = (str(tmp_path / name) for name in ("j", "l", "i"))
    with pytest.raises(RefusedToStart, match="leave out that key"):
        Directories(Disk(), journal, ledger, "DbLedgerStorage", indexes=[index]).open()
    put(tmp_path / "i", "current/locations/CURRENT")
    shutil.rmtree(tmp_path / "l" / "current" / "ledgers")
    Directories(Disk(), journal, ledger, "DbLedgerStorage", indexes=[index]).open()

"""bookkeeper_tx.bookie.http.list_disk_file, last_log_mark, info, expand_storage: the directories of the bookie."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.last_mark import LogMark, write_last_mark
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.http.asked import Asked


def put(asked: Asked, *names: str) -> None:
    for name in names:
        path = Path(asked.directories.ledgers[0], name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")


def test_files_are_listed_by_kind(asked: Asked) -> None:
    scoped = "00000000/00000001/00000000/00000005.idx"
    put(asked, "19e.txn", "0.log", "1.log", "2.log128", "0/0/7.idx", "0/1/8.idx", scoped, "VERSION", "lastMark")
    found = asked.ask("/api/v1/bookie/list_disk_file").json
    assert found == {
        "journal files": "19e.txn\t",
        "entrylog files": "0.log\t1.log\t2.log128\t",
        "index files": "00000005.idx\t7.idx\t8.idx\t",
    }
    for kind in ("journal", "entrylog", "index"):
        one = asked.ask(f"/api/v1/bookie/list_disk_file?file_type={kind}").json
        assert one == {f"{kind} files": found[f"{kind} files"]}
    assert asked.ask("/api/v1/bookie/list_disk_file?file_type=x").json == found


def test_the_mark_is_that_of_the_disk(asked: Asked) -> None:
    path = "/api/v1/bookie/last_log_mark"
    assert asked.ask(path).json == {"LastLogMark: Journal Id - 0(0.txn)": "Pos - 0"}
    write_last_mark(Disk(), [asked.directories.ledgers[0]], LogMark(0x1A215D666D8, 733696))
    assert asked.ask(path).json == {"LastLogMark: Journal Id - 1795662702296(1a215d666d8.txn)": "Pos - 733696"}


def test_each_journal_has_its_mark(asked: Asked) -> None:
    asked.bookie.journal_directories = ["/j", "/k"]
    for index, name in enumerate(("lastMark.0", "lastMark.1")):
        write_last_mark(Disk(), [asked.directories.ledgers[0]], LogMark(10 + index, 512 + index), name)
    assert asked.ask("/api/v1/bookie/last_log_mark").json == {
        "LastLogMark: Journal Id - 10(a.txn)": "Pos - 512",
        "LastLogMark: Journal Id - 11(b.txn)": "Pos - 513",
    }


def test_journals_whose_files_have_one_name_are_told_apart(asked: Asked) -> None:
    asked.bookie.journal_directories = ["/j", "/k", "/l"]
    for index, journal_id in enumerate((10, 11, 10)):
        write_last_mark(Disk(), [asked.directories.ledgers[0]], LogMark(journal_id, 512 + index), f"lastMark.{index}")
    assert asked.ask("/api/v1/bookie/last_log_mark").json == {
        "LastLogMark: Journal Id - 10(a.txn) in /j": "Pos - 512",
        "LastLogMark: Journal Id - 11(b.txn)": "Pos - 513",
        "LastLogMark: Journal Id - 10(a.txn) in /l": "Pos - 514",
    }


def test_the_space_is_that_of_the_ledger_disk(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked.bookie.disk, "free_bytes", lambda path: 7)
    monkeypatch.setattr(asked.bookie.disk, "total_bytes", lambda path: 9)
    assert asked.ask("/api/v1/bookie/info").json == {"freeSpace": 7, "totalSpace": 9}


def test_directories_on_one_disk_count_once(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.bookie.ledger_directories = [*asked.bookie.ledger_directories, str(tmp_path)]
    monkeypatch.setattr(asked.bookie.disk, "free_bytes", lambda path: 7)
    monkeypatch.setattr(asked.bookie.disk, "total_bytes", lambda path: 9)
    assert asked.ask("/api/v1/bookie/info").json == {"freeSpace": 7, "totalSpace": 9}


def test_files_of_all_directories_are_listed(asked: Asked, tmp_path: Path) -> None:
    put(asked, "0.log")
    more = tmp_path / "more"
    more.mkdir()
    (more / "9.log").write_bytes(b"")
    asked.bookie.ledger_directories = [*asked.bookie.ledger_directories, str(more)]
    assert asked.ask("/api/v1/bookie/list_disk_file?file_type=entrylog").json == {"entrylog files": "0.log\t9.log\t"}


def test_index_files_are_those_of_the_index_directories(asked: Asked, tmp_path: Path) -> None:
    put(asked, "0.log", "0/5/5.idx")
    (tmp_path / "more" / "0" / "6").mkdir(parents=True)
    (tmp_path / "more" / "0" / "6" / "6.idx").write_bytes(b"")
    asked.bookie.index_directories = [str(tmp_path / "more")]
    assert asked.ask("/api/v1/bookie/list_disk_file?file_type=index").json == {"index files": "6.idx\t"}


def test_a_disk_that_fails_is_named(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: str) -> int:
        raise OSError(5, "Input/output error", path)

    monkeypatch.setattr(asked.bookie.disk, "free_bytes", broken)
    reply = asked.ask("/api/v1/bookie/info")
    assert reply.status == 500
    assert asked.directories.ledgers[0] in reply.text


def test_storage_is_expanded_as_far_as_the_cookies_allow(asked: Asked) -> None:
    reply = asked.ask("/api/v1/bookie/expand_storage", "PUT")
    assert (reply.status, reply.text, asked.cookies_checked) == (200, "Success expand storage", 1)

    async def refuse() -> None:
        raise RefusedToStart("the cookie in /data is another bookie's")

    asked.bookie.check_cookies = refuse
    reply = asked.ask("/api/v1/bookie/expand_storage", "PUT")
    assert reply.status == 500
    assert "Exception while updating cookie for storage expansion" in reply.text
    assert "another bookie's" in reply.text

"""bookkeeper_tx.tap: the command line of ``twistd bookie``."""

import atexit
import time
from pathlib import Path

import pytest
import twisted.internet
from twisted.internet.testing import MemoryReactorClock
from twisted.python import usage

from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.tap import Options, makeService


def parsed(*arguments: str) -> BookieConfig:
    options = Options()
    options.parseOptions(list(arguments))
    return options.config


def refused(*arguments: str) -> str:
    with pytest.raises((usage.UsageError, SystemExit)) as caught:
        parsed(*arguments)
    return str(caught.value)


def test_one_directory_serves_journal_and_ledgers() -> None:
    config = parsed("--metadata", "sqlite:////m/x.db", "--data", "/d")
    assert (config.journal_directory, config.ledger_directory) == ("/d", "/d")
    assert (config.listen, config.port, config.wire_compat) == ("127.0.0.1", 3181, "")


def test_every_option_reaches_the_configuration() -> None:
    config = parsed(
        *("--metadata", "zk://h/ledgers", "--data", "/d", "--journal-dir", "/j", "--port", "0", "--listen", "0.0.0.0"),
        *("--advertise", "b1.example", "--bookie-id", "b1", "--wire-compat", "4.16"),
    )
    assert config == BookieConfig(
        metadata_uri="zk://h/ledgers",
        journal_directory="/j",
        ledger_directory="/d",
        port=0,
        listen="0.0.0.0",
        advertise="b1.example",
        bookie_id="b1",
        wire_compat="4.16",
    )
    assert not config.serves_batch_read


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bk.conf"
    path.write_text("metadataServiceUri=zk://h/l\njournalDirectories=/fj\nledgerDirectories=/fl\nbookiePort=9\nfoo=1\n")
    options = Options()
    options.parseOptions(["--config", str(path), "--port", "10"])
    config = options.config
    assert (config.port, config.journal_directory, config.ledger_directory) == (10, "/fj", "/fl")
    assert len(options.warnings) == 1
    config = parsed("--config", str(path), "--data", "/d")
    assert (config.port, config.journal_directory, config.ledger_directory) == (9, "/d", "/d")


def test_several_journals(tmp_path: Path) -> None:
    path = tmp_path / "bk.conf"
    path.write_text("metadataServiceUri=zk://h/l\njournalDirectories=/f1,/f2\nledgerDirectories=/fl\n")
    given = ("--config", str(path))
    assert parsed(*given).journal_directories == ("/f1", "/f2")
    assert parsed(*given, "--data", "/d").journal_directories == ("/d",)
    assert parsed(*given, "--journal-dir", "/a,/b", "--data", "/d").journal_directories == ("/a", "/b")


def test_several_ledger_and_index_directories(tmp_path: Path) -> None:
    path = tmp_path / "bk.conf"
    path.write_text("metadataServiceUri=zk://h/l\nledgerDirectories=/f1,/f2\nindexDirectories=/x1,/x2\n")
    given = ("--config", str(path))
    config = parsed(*given, "--journal-dir", "/j")
    assert (config.ledger_directories, config.index_directories) == (("/f1", "/f2"), ("/x1", "/x2"))
    config = parsed(*given, "--data", "/a,/b", "--index-dir", "/c")
    assert (config.ledger_directories, config.index_directories) == (("/a", "/b"), ("/c",))
    assert config.journal_directories == ("/a",)


@pytest.mark.parametrize("option", ["--data", "--journal-dir", "--index-dir"])
def test_spaces_around_a_directory_are_not_its_name_and_an_empty_name_is_refused(option: str) -> None:
    given = ("--metadata", "zk://h/l", "--data", "/d")
    config = parsed(*given, option, " /a, /b ")
    assert ("/a", "/b") in (config.journal_directories, config.ledger_directories, config.index_directories)
    for value in ("/a,/b,", ",/a", "/a,,/b", ",", "/a, "):
        assert f"{option} {value}: a name is missing before or after a comma" in refused(*given, option, value)


def test_relative_directories_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parsed("--metadata", "sqlite:///m", "--data", "d").ledger_directory == str(tmp_path / "d")


def test_what_is_missing_or_wrong_is_said() -> None:
    assert "--metadata URI" in refused("--data", "/d")
    assert "--data DIR" in refused("--metadata", "zk://h/l")
    for port in ("x", "-1", "65536"):
        shown = refused("--metadata", "zk://h/l", "--data", "/d", "--port", port)
        assert shown == f"bookie: --port {port}: give a number from 0 to 65535"
    assert "only 4.16" in refused("--metadata", "zk://h/l", "--data", "/d", "--wire-compat", "4.9")
    assert "cannot be read" in refused("--config", "/nowhere/bk.conf")
    assert "no-such-option" in refused("--no-such-option")


def test_the_timers_of_a_bookie_do_not_hang_on_the_wall_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reactor = MemoryReactorClock()
    monkeypatch.setattr(twisted.internet, "reactor", reactor, raising=False)
    monkeypatch.setattr(atexit, "register", lambda *_: None)
    options = Options()
    options.parseOptions(["--metadata", f"sqlite://{tmp_path}/m.db", "--data", str(tmp_path)])
    makeService(options)
    assert reactor.seconds is time.monotonic

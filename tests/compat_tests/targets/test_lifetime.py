"""Everything that a target starts ends with it."""

import os
import signal
import tempfile
import threading
from pathlib import Path

import pytest

from compat_tests.targets.lifetime import CleanupFailed, Lifetime
from compat_tests.targets.unavailable import Unavailable


class Server:
    """A server that knows whether it runs: between start and stop."""

    def __init__(self, journal: list[str], name: str = "server") -> None:
        self.journal = journal
        self.name = name
        self.released = threading.Event()

    def start(self) -> str:
        self.journal.append(f"{self.name} starts")
        return self.name

    def start_slowly(self) -> str:
        """Start until it is stopped; it runs all the same."""
        self.released.wait(10)
        return self.start()

    def stop(self) -> None:
        self.journal.append(f"{self.name} stops")
        self.released.set()

    def stop_badly(self) -> None:
        raise OSError("it does not want to")


def test_servers_end_before_what_they_stand_on() -> None:
    journal: list[str] = []
    server = Server(journal)
    with Lifetime() as lifetime:
        lifetime.finally_do(lambda: journal.append("floor"))
        lifetime.finally_do(lambda: journal.append("walls"))
        assert lifetime.launch(server, server.start) == "server"
        folder = lifetime.directory("plain")
        assert lifetime.directory("plain") != folder
        (folder / "file").write_text("x")
    assert journal == ["server starts", "server stops", "server stops", "walls", "floor"]
    assert not folder.parent.exists()


def test_a_server_that_was_forgotten_is_left_alone() -> None:
    journal: list[str] = []
    server = Server(journal)
    with Lifetime() as lifetime:
        lifetime.launch(server, server.start)
        lifetime.forget(server)
        lifetime.forget(server)
    assert journal == ["server starts"]


def test_a_start_that_is_under_way_is_stopped_and_waited_for() -> None:
    journal: list[str] = []
    server = Server(journal)
    lifetime = Lifetime()
    thread = threading.Thread(target=lambda: lifetime.launch(server, server.start_slowly))
    thread.start()
    while not lifetime._starting:  # no clock: the other thread is about to say so
        pass
    lifetime.close()
    thread.join()
    assert journal == ["server stops", "server starts", "server stops"]


def test_nothing_starts_after_the_end() -> None:
    lifetime = Lifetime()
    lifetime.close()
    lifetime.close()
    server = Server([])
    for start in (
        lambda: lifetime.launch(server, server.start),
        lambda: lifetime.directory("plain"),
        lambda: lifetime.finally_do(server.stop),
    ):
        with pytest.raises(Unavailable, match="closed"):
            start()
    assert server.journal == []


def test_what_does_not_end_is_named_and_the_rest_ends() -> None:
    journal: list[str] = []
    bad, good = Server(journal), Server(journal, "good")
    bad.stop = bad.stop_badly  # type: ignore[method-assign]
    lifetime = Lifetime()
    lifetime.finally_do(lambda: journal.append("floor"))
    lifetime.finally_do(bad.stop_badly)
    lifetime.launch(bad, bad.start)
    lifetime.launch(good, good.start)
    folder = lifetime.directory("plain")
    with pytest.raises(CleanupFailed, match="it does not want to"):
        lifetime.close()
    assert journal[-2:] == ["good stops", "floor"]
    assert not folder.parent.exists()


def test_a_failed_start_is_the_callers() -> None:
    server = Server([])
    with Lifetime() as lifetime, pytest.raises(OSError, match="it does not want to"):
        lifetime.launch(server, server.stop_badly)
    assert server.journal[-1] == "server stops"


def test_signals_are_exceptions_while_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: dict[int, object] = {}
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_DFL)
    monkeypatch.setattr(signal, "signal", lambda number, handler: set_to.__setitem__(number, handler))
    with Lifetime():
        handler = set_to[signal.SIGTERM]
        assert callable(handler)
        with pytest.raises(SystemExit):
            handler(signal.SIGTERM, None)
    assert set_to[signal.SIGTERM] is signal.SIG_DFL


def test_another_ones_handlers_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    set_to: list[int] = []
    monkeypatch.setattr(signal, "signal", lambda number, handler: set_to.append(number))
    Lifetime().__enter__()
    assert set_to == []


def test_a_signal_right_after_a_directory_was_made_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made, mkdtemp = threading.Event(), tempfile.mkdtemp

    def make_and_be_ended(**named: str) -> str:
        path = mkdtemp(**named)
        os.kill(os.getpid(), signal.SIGTERM)
        made.set()
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_be_ended)
    with pytest.raises(SystemExit), Lifetime() as lifetime:
        lifetime.directory("plain")
    assert made.is_set()
    assert list(tmp_path.iterdir()) == []

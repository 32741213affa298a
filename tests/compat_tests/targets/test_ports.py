"""Choosing a port."""

import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.targets import ports
from compat_tests.targets.ports import choose_port


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own: in the common one other tests, of this process or another, have locked their ports."""
    monkeypatch.setenv("BKTX_CACHE", str(tmp_path))
    monkeypatch.setattr(ports, "_port_locks", ports._PortLocks())
    monkeypatch.setattr(ports, "_own_ports", set())


def test_a_port_that_is_taken_is_passed_over():
    offered = iter([15901, 15902, 15903])
    assert choose_port(free=lambda port: port == 15903, choice=lambda low, high: next(offered)) == 15903


def test_no_port_is_given_twice():
    offered = iter([15911, 15911, 15911, 15912])
    choice = lambda low, high: next(offered)  # noqa: E731
    assert choose_port(free=lambda port: True, choice=choice) == 15911
    assert choose_port(free=lambda port: True, choice=choice) == 15912


OTHER = """
from compat_tests.targets.ports import choose_port
print(choose_port(free=lambda port: True, choice=lambda low, high: 15921), flush=True)
input()
"""


def test_no_port_is_given_to_two_processes():
    offered = iter([15921, 15922])
    with subprocess.Popen([sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"15921\n"
        assert choose_port(free=lambda port: True, choice=lambda low, high: next(offered)) == 15922
    assert choose_port(free=lambda port: True, choice=lambda low, high: 15921) == 15921


def test_it_gives_up():
    with pytest.raises(OSError, match="no free port"):
        choose_port(free=lambda port: False)

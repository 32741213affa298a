"""A bookie of the suite keeps its port while it is down."""

import errno
import socket
import sys
from collections.abc import Iterator

import pytest

from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.judge.recording import Recording
from compat_tests.targets.unavailable import Unavailable


@pytest.fixture
def bookie() -> Iterator[ScriptedBookie]:
    made = ScriptedBookie("bookie 0", Recording())
    yield made
    made.end()


def take(port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))


@pytest.mark.skipif(sys.platform != "linux", reason="a port can be held on Linux only")
def test_nobody_else_gets_its_port(bookie: ScriptedBookie) -> None:
    bookie.stop()
    with pytest.raises(OSError, match="in use") as refused:
        take(bookie.port)
    assert refused.value.errno == errno.EADDRINUSE
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", bookie.port), 5)
    bookie.listen()
    socket.create_connection(("127.0.0.1", bookie.port), 5).close()


def test_it_takes_no_port_on_which_another_listens(bookie: ScriptedBookie) -> None:
    with pytest.raises(Unavailable, match="give --listen more of them"):
        ScriptedBookie("bookie 1", Recording(), ports=[bookie.port])

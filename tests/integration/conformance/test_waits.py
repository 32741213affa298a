"""The suite's waits for an event that never comes end in time."""

import socket
import struct
import time

import pytest
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss

from compat_tests.client import bookie_connection
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.judge.recording import Recording
from compat_tests.targets import cluster
from compat_tests.targets.zookeeper import ZooKeeper


def test_a_client_that_reads_nothing_holds_up_no_scripted_bookie(monkeypatch):
    monkeypatch.setattr(bookie_connection, "_SEND_WITHIN", struct.pack("ll", 0, 100_000))
    recording = Recording()
    bookie = ScriptedBookie("bookie 1", recording)
    with socket.create_connection((bookie.host, bookie.port)):
        bookie.wait_connections(1)
        began = time.monotonic()
        bookie._connections[0].send_bytes(bytes(64 << 20))
        assert time.monotonic() - began < 30
        bookie.end()
    assert "the target reads nothing" in [event.text for event in recording.events]


@pytest.mark.java
def test_a_zookeeper_that_is_gone_for_good_holds_up_nobody(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "_AWAY_AT_MOST_S", 2)
    with ZooKeeper(tmp_path) as server:
        session = cluster.new_session(server.hosts)
        session.start(timeout=20)
        server.process.kill()
        for _ in range(2):
            with pytest.raises((ConnectionLoss, ConnectionClosedError)):
                session.get("/")
        session.stop()
        session.close()

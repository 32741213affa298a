"""The order in which restarts are measured."""

import time
from contextlib import contextmanager

import pytest

from bookkeeper_tx.cli.bench import restarts
from bookkeeper_tx.cli.bench.series import Series


@pytest.fixture
def done():
    """What was done, in its order."""
    return []


class Cluster:
    """Two bookies that take their time, on a clock of their own."""

    metadata_uri = "sqlite:///nowhere"
    bookies = ("one", "other")

    def __init__(self, done, directory):
        self.done = done
        self.directory = directory
        self.now = 0.0

    def kill(self, index):
        self.done.append(f"kill {index}")

    def start(self):
        self.done.append("start")
        self.now += 3

    def stop(self):
        self.done.append("stop")
        self.now += 5


def test_bookies_are_killed_and_stopped_after_a_run_each(done, tmp_path, monkeypatch):
    class Clients:
        def ask(self, verb, **values):
            done.append(verb)

    @contextmanager
    def load_clients(series, metadata_uri, directory):
        yield Clients()
        done.append("clients end")

    cluster = Cluster(done, tmp_path)
    monkeypatch.setattr(restarts, "load_clients", load_clients)
    monkeypatch.setattr(time, "perf_counter", lambda: cluster.now)
    found = restarts.measure_restarts(Series(entries=10, payload_size=1, runs=1), cluster)
    assert found == {"start_after_sigkill_s": 3, "stop_at_sigterm_s": 5, "start_after_stop_s": 3}
    write = ["ready", "create", "adds"]
    assert done == [*write, "kill 0", "kill 1", "clients end", "start", *write, "clients end", "stop", "start"]

"""Processes that make load, asked all at once."""

import os
import sys

import pytest

from bookkeeper_tx.cli.bench.load_clients import LoadClients
from bookkeeper_tx.cli.bench.load_lines import LoadFailed

CLIENT = """
import sys
for line in sys.stdin:
    verb = line.split()[0]
    if verb == "end":
        sys.exit("that was too much")
    print({
        "adds": f"ok entries=10 bytes={sys.argv[1]}",
        "latencies": f"ok sampled_us=1000,{sys.argv[1]} slowest_us={sys.argv[1]}",
        "wrong": "error no such thing",
    }[verb], flush=True)
"""


@pytest.fixture
def clients(tmp_path):
    commands = [[sys.executable, "-c", CLIENT, argument] for argument in ("3000", "5000")]
    with LoadClients(commands, tmp_path / "clients") as clients:
        yield clients


def test_all_do_each_request(clients):
    assert clients.ask("adds", entries=10) == [{"entries": "10", "bytes": "3000"}, {"entries": "10", "bytes": "5000"}]


def test_figures_are_of_all_together(clients):
    measured = clients.measure([os.getpid()], "adds", entries=10)
    assert (measured.entries, measured.size) == (20, 8000)
    assert (measured.latency_p50_ms, measured.latency_p99_ms, measured.latency_max_ms) == (3, 5, 5)
    assert measured.client_cpu_us >= 0
    assert measured.bookie_cpu_us is not None
    assert measured.client_rss_bytes_max > 0


def test_an_error_is_raised_with_the_name_of_the_client(clients):
    with pytest.raises(LoadFailed, match="client 0: no such thing"):
        clients.ask("wrong")


def test_a_client_that_has_ended_is_an_error_with_its_last_words(clients):
    with pytest.raises(LoadFailed, match="client 0 has ended: that was too much"):
        clients.ask("end")


def test_none_is_left_running(clients):
    pids = clients.pids
    clients.__exit__(None, None, None)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

"""Logs of processes."""

import sys

from compat_tests.targets.process import ServerProcess, tail_of


def test_of_a_log_that_has_grown_the_last_lines_are_told(tmp_path):
    log = tmp_path / "bookie.log"
    assert tail_of(log, 2) == "(no log)"
    log.write_bytes(b"x" * 300_000 + b"\nbefore\n\xfflast\n")
    assert tail_of(log, 2) == "before\n\N{REPLACEMENT CHARACTER}last"
    assert len(tail_of(log, 3)) < 70_000


def test_what_was_said_before_it_was_started_does_not_count(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("started\n")
    process = ServerProcess("server", [sys.executable, "-c", "print('up'); input()"], log, tied=True)
    try:
        process.start()
        process.wait_until(lambda: process.has_said("up"), 60, "up")
        assert not process.has_said("started")
    finally:
        process.stop()

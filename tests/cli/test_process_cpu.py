"""What ``/proc`` says of a process."""

import os
import time

import pytest

from bookkeeper_tx.cli import process_cpu


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """A made-up ``/proc`` with one process of two threads."""
    monkeypatch.setattr(process_cpu, "PROC", tmp_path)
    process = tmp_path / "7"
    for thread, nanoseconds in (("7", 1000), ("8", 234)):
        (process / "task" / thread).mkdir(parents=True)
        (process / "task" / thread / "schedstat").write_text(f"{nanoseconds} 55 66\n")
    (process / "io").write_text("rchar: 1\nwchar: 2\nwrite_bytes: 4096\ncancelled_write_bytes: 9\n")
    (process / "status").write_text("Name:\tpython\nVmHWM:\t    30 kB\nVmRSS:\t    20 kB\n")
    (tmp_path / "stat").write_text("cpu  10 1 5 1000 50 2 3 0 0 0\ncpu0 1 1 1 1\n")
    return tmp_path


def test_cpu_is_summed_over_threads(proc):
    assert process_cpu.cpu_ns(7) == 1234


def test_a_thread_that_ends_meanwhile_is_left_out(proc):
    (proc / "7" / "task" / "8" / "schedstat").unlink()
    assert process_cpu.cpu_ns(7) == 1000


def test_usage_has_units_of_bytes(proc):
    assert process_cpu.usage(7) == process_cpu.Usage(1234, 4096, 20 * 1024, 30 * 1024)


def test_usage_since_subtracts_what_grows(proc):
    before = process_cpu.Usage(1000, 96, 5, 6)
    assert process_cpu.usage(7).since(before) == process_cpu.Usage(234, 4000, 20 * 1024, 30 * 1024)


def test_a_process_that_is_gone_is_an_error(proc):
    with pytest.raises(FileNotFoundError):
        process_cpu.usage(8)


def test_the_busy_time_of_the_machine_has_neither_idle_nor_waiting(proc):
    per_tick = process_cpu.NANOSECONDS_PER_SECOND // os.sysconf("SC_CLK_TCK")
    assert process_cpu.machine_busy_ns() == (10 + 1 + 5 + 2 + 3) * per_tick


def test_our_own_cpu_time_grows():
    before = process_cpu.cpu_ns(os.getpid())
    until = time.process_time() + 0.02
    while time.process_time() < until:
        pass
    assert process_cpu.cpu_ns(os.getpid()) - before > 10_000_000

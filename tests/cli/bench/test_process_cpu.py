"""The figures of a process in ``/proc``."""

import os
import subprocess
import sys

import pytest

from bookkeeper_tx.cli.bench import process_cpu
from tests.cli.bktx_process import environment


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
    assert process_cpu.usage(7) == process_cpu.Usage({(7, 7): 1000, (7, 8): 234}, 4096, 20 * 1024, 30 * 1024)


def test_usage_since_subtracts_what_grows(proc):
    before = process_cpu.Usage({(7, 7): 900, (7, 8): 34}, 96, 5, 6)
    assert process_cpu.usage(7).since(before) == process_cpu.Usage({(7, 7): 100, (7, 8): 200}, 4000, 20480, 30720)


def test_a_thread_that_has_ended_takes_nothing_from_the_others(proc):
    before = process_cpu.Usage({(7, 7): 900, (7, 9): 10**12}, 0, 0, 0)
    assert process_cpu.usage(7).since(before).cpu_ns == 100 + 234


def test_a_process_that_is_gone_is_an_error(proc):
    with pytest.raises(FileNotFoundError):
        process_cpu.usage(8)


def test_the_busy_time_of_the_machine_has_neither_idle_nor_waiting(proc):
    per_tick = process_cpu.NANOSECONDS_PER_SECOND // os.sysconf("SC_CLK_TCK")
    assert process_cpu.machine_busy_ns() == (10 + 1 + 5 + 2 + 3) * per_tick


OUR_OWN = """
import os, time
from bookkeeper_tx.cli.bench.process_cpu import cpu_ns
before = cpu_ns(os.getpid())
until = time.process_time() + 0.02
while time.process_time() < until:
    pass
print(cpu_ns(os.getpid()) - before)
"""


def test_our_own_cpu_time_grows():
    """The test measures another process, in which no thread ends meanwhile."""
    done = subprocess.run([sys.executable, "-c", OUR_OWN], capture_output=True, check=True, env=environment())
    assert int(done.stdout) > 10_000_000


def test_descendants_are_found_through_their_parents(proc):
    for pid, parent in ((20, 7), (21, 20), (22, 21), (30, 1)):
        (proc / str(pid)).mkdir()
        (proc / str(pid) / "stat").write_text(f"{pid} (name) S {parent} 0\n")
    (proc / "40").mkdir()  # has ended while we looked
    (proc / "7" / "stat").write_text("7 (bktx) S 1 0\n")
    assert process_cpu.descendants(7) == [20, 21, 22]
    assert process_cpu.descendants(22) == []


def test_ended_threads_are_counted_in_ticks(proc):
    (proc / "7" / "stat").write_text("7 (a (strange) name) S 1 2 3 4 5 6 7 8 9 10 150 50 1 1\n")
    per_tick = process_cpu.NANOSECONDS_PER_SECOND // os.sysconf("SC_CLK_TCK")
    assert process_cpu.cpu_ns_with_ended_threads(7) == 200 * per_tick


def test_a_command_line_is_cut_into_its_words(proc):
    (proc / "7" / "cmdline").write_bytes(b"python\0-m\0a b\0")
    assert process_cpu.command_of(7) == ["python", "-m", "a b"]

"""``bktx demo``: it succeeds, keeps the data on request, and leaves no process after any kind of end."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from bookkeeper_tx.testing.local_cluster import LocalBookie
from tests.cli.bktx_process import COMMAND, bktx, environment
from tests.integration.support.programs import as_in_the_foreground
from tests.sampling import only

TIMEOUT_S = 120


@pytest.fixture
def small_file(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"".join(b"line %d\n\n" % number for number in range(5_000)) + b"no end")
    return path


def bookies_of(directory: Path) -> list[int]:
    """Return the processes whose command line names ``directory``."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and os.fsencode(directory) in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.full
def test_a_device_is_no_file_to_store():
    done = bktx("demo", "--file", "/dev/zero", timeout_s=TIMEOUT_S)
    assert done.returncode == 1
    assert b"no regular file" in done.stderr


def test_a_file_survives_the_death_of_a_bookie(small_file, tmp_path):
    directory = tmp_path / "cluster"
    done = bktx("demo", "--file", str(small_file), "--directory", str(directory), timeout_s=TIMEOUT_S)
    shown = done.stdout.decode()
    assert done.returncode == 0, shown + done.stderr.decode()
    for part in ("SIGKILL", "fragments:", "read by single reads", "read by batch reads", "by fallback, 4.16", "sha256"):
        assert part in shown
    assert "10,001" in shown
    assert (directory / "metadata.db").exists()
    assert not bookies_of(directory)


@pytest.mark.full
@pytest.mark.parametrize("sent", only(signal.SIGTERM, [signal.SIGINT, signal.SIGTERM]))
def test_an_interrupted_demo_stops_its_bookies(sent, tmp_path):
    directory = tmp_path / "cluster"
    large = tmp_path / "large"
    large.write_bytes(b"a line\n" * 5_000_000)  # so that the demo does not end first, however fast the machine is
    command = [*COMMAND, "demo", "--file", str(large), "--directory", str(directory)]
    with subprocess.Popen(command, env=environment(), preexec_fn=as_in_the_foreground) as demo:
        deadline = time.monotonic() + TIMEOUT_S
        while len(bookies_of(directory)) < 5 and time.monotonic() < deadline:  # four bookies and the demo itself
            time.sleep(0.05)
        time.sleep(1)  # somewhere in the middle; it must not matter where
        demo.send_signal(sent)
        assert demo.wait(TIMEOUT_S) == 130
    assert not bookies_of(directory)


def test_the_bookies_end_with_a_demo_that_cannot_stop_them(small_file, tmp_path):
    directory = tmp_path / "cluster"
    with subprocess.Popen(
        [*COMMAND, "demo", "--file", str(small_file), "--directory", str(directory)],
        env={**environment(), "TMPDIR": str(tmp_path)},  # it has no chance to tidy up
        stdout=subprocess.PIPE,
    ) as demo:
        assert demo.stdout is not None
        while not demo.stdout.readline().startswith("• bookies".encode()):
            assert demo.poll() is None
        demo.kill()
    deadline = time.monotonic() + TIMEOUT_S
    while bookies_of(directory):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.full
def test_a_failed_demo_stops_its_bookies(small_file, tmp_path):
    directory = tmp_path / "cluster"
    (tmp_path / "sitecustomize.py").write_text(
        f"import {LocalBookie.__module__} as local_cluster\n"
        "def refuse(*_): raise local_cluster.BookieFailed('no bookie today')\n"
        "local_cluster.LocalCluster.kill = refuse\n"
    )
    done = subprocess.run(
        [*COMMAND, "demo", "--file", str(small_file), "--directory", str(directory)],
        env={**environment(), "PYTHONPATH": f"{tmp_path}{os.pathsep}{environment()['PYTHONPATH']}"},
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 1
    assert done.stderr.decode().endswith("error: no bookie today\n")
    assert not bookies_of(directory)


@pytest.mark.full
def test_a_directory_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "something").touch()
    done = bktx("demo", "--directory", str(tmp_path))
    assert done.returncode == 1
    assert b"not empty" in done.stderr


@pytest.mark.full
def test_a_file_without_a_middle_is_refused(tmp_path):
    path = tmp_path / "short"
    path.write_bytes(b"one line\n")
    done = bktx("demo", "--file", str(path))
    assert done.returncode == 1
    assert b"at least 100" in done.stderr

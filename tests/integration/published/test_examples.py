"""The programs on README and in the tutorial behave as the text says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.cli.bktx_process import environment

ROOT = Path(__file__).parent.parent.parent.parent
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
URI = re.compile(r'"sqlite://[^"]*"')


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with LocalCluster(tmp_path_factory.mktemp("cluster"), 2) as running:
        yield running


@pytest.fixture(scope="module")
def run(cluster):
    """Run the programs of a page on the cluster; return the output of each."""

    def run_page(page, arguments):
        printed = []
        programs = PROGRAM.findall((ROOT / page).read_text(encoding="utf-8"))
        for program, given in zip(programs, arguments, strict=True):
            program, found = URI.subn(f'"{cluster.metadata_uri}"', program)
            assert found == 1
            # A later program is given the id of a ledger that an earlier one has printed.
            command = [sys.executable, "-c", program, *(text.format(*printed) for text in given)]
            done = subprocess.run(command, env=environment(), capture_output=True, timeout=200)
            assert done.returncode == 0, done.stderr.decode()
            printed.append(done.stdout.decode())
        return printed

    return run_page


def test_each_face_of_the_client_on_readme(run):
    programs = PROGRAM.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    faces = ["from bookkeeper_tx.blocking", "from bookkeeper_tx.aio", "from twisted"]
    assert [[face in program for program in programs] for face in faces] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]
    assert run("README.md", [(), (), ()]) == ["[b'first', b'second', b'third']\n"] * 3


def test_the_programs_of_the_tutorial(run):
    written, read = run("docs/tutorial.md", [(), ("{0[7]}",)])
    assert re.fullmatch(r"ledger \d: entry 0, then 1 to 999\n", written)
    pieces = [tuple(map(int, each)) for each in re.findall(r"entries (\d+) to (\d+): \d+ bytes", read)]
    assert [entry_id for first, last in pieces for entry_id in range(first, last + 1)] == list(range(1000))
    assert "[b'entry 10', b'entry 11', b'entry 12', b'entry 13', b'entry 14']" in read
    assert "payload=b'entry 3'" in read

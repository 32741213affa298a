"""The programs of the README, one for each face of the client, run as they are but for the place of the metadata."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster

README = (Path(__file__).parents[3] / "README.md").read_text()
URI = "sqlite:///tmp/bk/metadata.db"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("bookies"), bookie_count=1) as cluster:
        yield cluster


def test_there_is_one_for_each_face() -> None:
    faces = ["from bookkeeper_tx.blocking", "from bookkeeper_tx.aio", "from twisted"]
    assert [[face in program for program in PROGRAMS] for face in faces] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]


@pytest.mark.parametrize("program", PROGRAMS, ids=["blocking", "aio", "twisted"])
def test_it_prints_what_it_has_written(cluster: LocalCluster, program: str) -> None:
    assert URI in program
    command = [sys.executable, "-W", "error", "-c", program.replace(URI, cluster.metadata_uri)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[b'first', b'second', b'third']\n", "")

"""The memory of a client that reads large entries: of a process of its own, at its highest."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support import tail_memory
from tests.integration.support.our_client import OurClient, append

ROOT = Path(__file__).parents[3]
ENTRIES = 60
SIZE = 5_000_000
MEMORY_MIB_MAX = 200


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """A cluster, and an open ledger of 300 MB in it."""
    with LocalCluster(tmp_path_factory.mktemp("bookies"), bookie_count=1) as cluster:
        with OurClient(cluster.metadata_uri) as client:
            writer = client.create_ledger()
            for number in range(ENTRIES + 1):
                append(writer, [bytes([number]) * SIZE])
        yield cluster.metadata_uri, writer.ledger_id


@pytest.mark.slow
@pytest.mark.parametrize("how", ["tail", "batch", "singles"])
def test_a_ledger_of_large_entries_is_read_in_little_memory(written: tuple[str, int], how: str) -> None:
    uri, ledger_id = written
    command = [sys.executable, "-m", tail_memory.__name__, uri, str(ledger_id), how, str(ENTRIES - 1)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    size, memory_mib = map(int, done.stdout.split())
    assert size == ENTRIES * SIZE
    assert memory_mib < MEMORY_MIB_MAX

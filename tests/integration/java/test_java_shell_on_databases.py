"""Java's shell and ours on the databases of the same bookie: where the entries of a ledger lie."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.testing.local_cluster import LocalBookie
from compat_tests.targets.cluster import Cluster
from tests.cli.bookie.bookie_files import objects
from tests.integration.java.test_java_on_several_directories import listed
from tests.integration.support import java_shell, raw_requests
from tests.integration.support.our_client import OurClient, append
from tests.sampling import only

pytest.importorskip("rocksdict")
#: Older releases say the same in sentences of their own.
pytestmark = [pytest.mark.java, pytest.mark.full, pytest.mark.releases(since="4.18")]

SETTINGS: dict[str, object] = {
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "dbStorage_writeCacheMaxSizeMb": 4,
    "logSizeLimit": 1 << 20,
}

COUNTS = (5, 3000, 1, 2000)
"""Entries of the ledgers; the first of these is fenced."""


@pytest.mark.parametrize("names", [("data",), ("data1", "data2")])
@pytest.mark.parametrize("writer", only("ours", ["ours", "java"]))
def test_both_say_the_same_of_locations(
    java_release: str,
    cluster: Cluster,
    java_bookie: Callable[..., Any],
    tmp_path: Path,
    names: tuple[str, ...],
    writer: str,
) -> None:
    journal, data = tmp_path / "journal", listed(tmp_path, names)
    running: Any
    if writer == "java":
        settings = SETTINGS | {"ledgerDirectories": data}
        running = java_bookie(
            java_release, storage="db", settings=settings, journal_dir=journal, ledger_dir=tmp_path / names[0]
        )
    else:
        running = LocalBookie(tmp_path, cluster.uri, SETTINGS, ["--journal-dir", str(journal), "--data", data])
        running.launch()
        running.wait_until_ready()
    with OurClient(cluster.uri) as ours:
        writers = [ours.create_ledger() for _ in COUNTS]
        for each, count in zip(writers, COUNTS, strict=True):
            append(each, [b"%d" % number * 200 for number in range(count)])
        raw_requests.fence(running.port, writers[0].ledger_id)
    running.stop()
    configuration = SETTINGS | java_shell.places(cluster.uri, journal, data)
    shell = java_shell.JavaShell(java_release, tmp_path / "shell", configuration)
    places = ["--data", data, "--journal-dir", journal]
    for at, ledger_id in enumerate(each.ledger_id for each in writers):
        header, *ours_found = objects("index", ledger_id, *places, "--locations")
        theirs = re.findall(
            r"^entry (\d+)\t:\t\(log: (\d+), pos: (\d+)\)$", shell.run("ledger", ledger_id), re.MULTILINE
        )
        assert [tuple(map(int, each)) for each in theirs] == [
            (each["entry_id"], each["log_id"], each["offset"] + 4) for each in ours_found
        ]
        assert header["entries"] == COUNTS[at]
        assert header["fenced"] is (at == 0)
        assert Path(header["path"]) == tmp_path / names[ledger_id % len(names)] / "current" / "ledgers"
    assert objects("listfilesondisc", *places, "--index")
    assert "ListFilesOnDiscCommand - log entry" not in shell.run("listfilesondisc", "-idx")

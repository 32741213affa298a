"""Java's shell and ours change the indexes of the same bookie: what each makes says the same."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.testing.local_cluster import LocalBookie
from compat_tests.targets.cluster import Cluster
from tests.cli.bktx_process import bktx
from tests.cli.bookie.bookie_files import objects, run
from tests.integration.support import raw_requests
from tests.integration.support.java_shell import JavaShell, places
from tests.integration.support.our_client import OurClient, append, wait_for

pytest.importorskip("rocksdict")
pytestmark = [pytest.mark.java, pytest.mark.full, pytest.mark.releases(since="4.18")]

DB, SORTED = "DbLedgerStorage", "SortedLedgerStorage"
CLASSES = {
    DB: "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    SORTED: "org.apache.bookkeeper.bookie.SortedLedgerStorage",
}
COUNTS = (5, 3000, 1, 2000)
"""Entries of the ledgers; the first of these is fenced."""


def payloads(count: int) -> list[bytes]:
    return [b"%d" % number * 200 for number in range(count)]


class Stopped:
    """The files of a bookie of ours with this class of storage; each copy is for one of the shells."""

    def __init__(self, cluster: Cluster, tmp_path: Path, storage: str) -> None:
        self._cluster, self._tmp_path, self._storage = cluster, tmp_path, storage
        settings: dict[str, object] = {"ledgerStorageClass": CLASSES[storage], "logSizeLimit": 1 << 20}
        bookie = LocalBookie(tmp_path / "ours", cluster.uri, settings, [])
        bookie.launch()
        bookie.wait_until_ready()
        with OurClient(cluster.uri) as client:
            writers = [client.create_ledger() for _ in COUNTS]
            for each, count in zip(writers, COUNTS, strict=True):
                append(each, payloads(count))
            self.ledger_ids = [each.ledger_id for each in writers]
            raw_requests.fence(bookie.port, self.ledger_ids[0])
        bookie.stop()
        self.bookie = bookie
        self.of_java = Path(shutil.copytree(tmp_path / "ours" / "data", tmp_path / "java"))
        self.of_ours = tmp_path / "ours" / "data"

    def said(self, data: Path) -> list[Any]:
        """What our shell says of all ledgers there: the class of storage in place of the path of the index."""
        found = [objects("index", each, "--data", data, "--locations") for each in self.ledger_ids]
        for each in found:
            each[0]["path"] = DB if Path(each[0]["path"]).name == "ledgers" else SORTED
        return found

    def java(self, release: str, *command: object) -> str:
        configuration = places(self._cluster.uri, self.of_java, self.of_java)
        configuration["ledgerStorageClass"] = CLASSES[self._storage]
        work_dir = self._tmp_path / f"shell-{command[0]}"
        return JavaShell(release, work_dir, configuration).run(*command)


@pytest.mark.parametrize(
    ("before", "after", "command"),
    [(SORTED, DB, "convert-to-db-storage"), (DB, SORTED, "convert-to-interleaved-storage")],
)
def test_both_convert_to_the_same(
    java_release: str, cluster: Cluster, tmp_path: Path, before: str, after: str, command: str
) -> None:
    files = Stopped(cluster, tmp_path, before)
    said = files.said(files.of_ours)
    assert [each[0]["entries"] for each in said] == list(COUNTS)
    assert [each[0]["fenced"] for each in said] == [True, False, False, False]
    done = run("convert", "--data", files.of_ours, "--to", after)
    assert done.exit_code == 0, (done.output, done.exception)
    expected = [[{**header, "path": after}, *locations] for header, *locations in said]
    assert files.said(files.of_ours) == expected
    files.java(java_release, command)
    assert files.said(files.of_java) == expected


def test_the_locations_that_both_make_anew_are_those_that_were_there(
    java_release: str, cluster: Cluster, tmp_path: Path
) -> None:
    files = Stopped(cluster, tmp_path, DB)
    said = files.said(files.of_ours)
    files.java(java_release, "rebuild-db-ledger-locations-index")
    assert files.said(files.of_java) == said
    for name in ("ledgers", "locations"):
        shutil.rmtree(files.of_ours / "current" / name)
    for arguments in (["rebuild-index", "--metadata", cluster.uri], ["convert", "--to", DB]):
        done = bktx("bookie", *arguments, "--data", str(files.of_ours))
        assert done.returncode == 0, done.stderr.decode()
    assert [each[1:] for each in files.said(files.of_ours)] == [each[1:] for each in said]


def test_ledgers_whose_index_java_has_made_anew_are_served(java_release: str, cluster: Cluster, tmp_path: Path) -> None:
    files = Stopped(cluster, tmp_path, DB)
    said = files.said(files.of_ours)
    files.java(java_release, "rebuild-db-ledgers-index", "-v")
    expected = [[{**header, "fenced": True}, *locations] for header, *locations in said]
    assert files.said(files.of_java) == expected
    shutil.rmtree(files.of_ours)
    files.of_java.rename(files.of_ours)
    files.bookie.launch()
    files.bookie.wait_until_ready()
    with OurClient(cluster.uri) as client:
        for ledger_id, count in zip(files.ledger_ids, COUNTS, strict=True):
            found = wait_for(client.open_ledger(ledger_id).read, 0, count - 1)
            assert [each.payload for each in found] == payloads(count)
    files.bookie.stop()

"""A sink, as its writers, readers and sweepers see it, and the rows that are written to it."""

import os
import time
from pathlib import Path
from typing import Any

from bookkeeper_tx.client.writers_metadata import UNDER_REPLICATED
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import DigestType, LedgerMetadata, LedgerState, Versioned
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.sink.manifest import EpochKey, read_manifest
from bookkeeper_tx.spark.sink.mark import SinkMark
from bookkeeper_tx.spark.sink.sweep import sweep
from bookkeeper_tx.testing.local_cluster import LocalCluster
from bookkeeper_tx.transport.blocking import BlockingChannel
from tests.integration.spark.sink_driver import rows, write_stream

ROWS = 30_000
"""Three Arrow batches in each of two partitions: faults come when the first is written."""
BATCH_ROWS = 5_000
FILES = 3
LINES = 12_000
EPOCHS = [f"{file:02d}-{line:06d}".encode() for file in range(FILES) for line in range(LINES)]
PASSWORD = b"hunter2-of-the-sink"


def expected(count: int = ROWS) -> list[bytes]:
    return [b"%08d" % row for row in range(count)]


class Sink:
    """One sink of a cluster, as its writers, readers and sweepers see it."""

    def __init__(self, cluster: LocalCluster, spark: Any, directory: Path, name: str) -> None:
        self.cluster = cluster
        self.uri = cluster.metadata_uri
        self.spark = spark
        self.directory = directory
        self.name = name
        self.notes_path = directory / "notes"
        self.notes_path.touch()
        self.password_file = directory / "password"
        self.password_file.write_bytes(PASSWORD + b"\n")
        self.checkpoint = directory / "checkpoint"
        self.sizes = (1, 1, 1)

    def options(self, fault: str | None = None, **more: object) -> dict[str, Any]:
        ensemble, write, ack = self.sizes
        options = {
            "metadataServiceUri": self.uri,
            "sinkId": self.name,
            "passwordFile": str(self.password_file),
            "ensembleSize": ensemble,
            "writeQuorumSize": write,
            "ackQuorumSize": ack,
            **more,
        }
        return options if fault is None else {**options, "fault": fault, "faultNotes": str(self.notes_path)}

    def write(self, fault: str | None = None, count: int = ROWS, partitions: int = 2, **more: object) -> None:
        fmt = "bookkeeper" if fault is None else "bookkeeper-faulty"
        frame = rows(self.spark, count, partitions)
        frame.write.format(fmt).mode("append").options(**self.options(fault, **more)).save()

    def stream(self, fault: str = "") -> Any:
        """Write the rows in the input directory; return the progress of the epochs of this run."""
        return write_stream(self.spark, self.input, str(self.checkpoint), self.options(fault)).recentProgress

    def stream_of_its_own(self) -> dict[str, Any]:
        """Return the request for the same stream to a driver in a process of its own."""
        return {"input": self.input, "checkpoint": str(self.checkpoint)}

    @property
    def input(self) -> str:
        directory = self.directory / "input"
        if not directory.exists():
            directory.mkdir()
            for file in range(FILES):
                path = directory / f"{file}.txt"
                path.write_bytes(b"".join(line + b"\n" for line in EPOCHS[file * LINES : (file + 1) * LINES]))
                os.utime(path, (1_000_000 + file, 1_000_000 + file))
        return str(directory)

    @property
    def notes(self) -> list[list[str]]:
        return [line.split() for line in self.notes_path.read_text().splitlines()]

    def noted(self, *words: str) -> list[list[str]]:
        return [note for note in self.notes if note[: len(words)] == list(words)]

    # What there is ---------------------------------------------------------------------------------------------------

    def manifest(self) -> list[tuple[EpochKey, Any]]:
        with open_blocking_store(self.uri) as store:
            return read_manifest(store, self.name)

    def ledgers(self) -> dict[int, LedgerMetadata]:
        """Return all ledgers that this sink has written, published or not."""
        with open_blocking_store(self.uri) as store:
            found = dict(store.read_ledgers(store.list_ledgers()))
        marks = {
            each: SinkMark.of(it.metadata.custom_metadata) for each, it in found.items() if isinstance(it, Versioned)
        }
        return {each: found[each].metadata for each, mark in marks.items() if mark and mark.sink_id == self.name}

    def marks(self, state: LedgerState | None = None) -> list[SinkMark]:
        found = self.ledgers().values()
        marks = [SinkMark.of(each.custom_metadata) for each in found if state in (None, each.state)]
        return [mark for mark in marks if mark is not None]

    def published_ids(self) -> list[int]:
        return [ledger.ledger_id for _, epoch in self.manifest() for ledger in epoch]

    def rows(self) -> list[bytes]:
        """Return the rows that readers of the manifest get, read from every running bookie that must have them."""
        digest = EntryDigest(DigestType.CRC32C, PASSWORD)
        found: list[bytes] = []
        with open_blocking_store(self.uri) as store:
            for _, epoch in read_manifest(store, self.name):
                for ledger in epoch:
                    metadata = store.read_ledger(ledger.ledger_id).metadata
                    assert metadata.state is LedgerState.CLOSED
                    assert (metadata.last_entry_id, metadata.length) == (ledger.last_entry_id, ledger.length)
                    found += self._entries(ledger.ledger_id, metadata, digest)
        return found

    def _entries(self, ledger_id: int, metadata: LedgerMetadata, digest: EntryDigest) -> list[bytes]:
        entries: dict[int, bytes] = {}
        lacking = metadata.custom_metadata.get(UNDER_REPLICATED, b"").decode().split(",")
        quorum = Quorum(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
        for index, bookie_id in enumerate(metadata.last_fragment.ensemble):
            bookie = self.cluster.bookies[self.cluster.index_of(bookie_id)]
            if bookie_id in lacking or not bookie.running:
                continue
            with BlockingChannel("127.0.0.1", bookie.port) as channel:
                for entry_id in range(metadata.last_entry_id + 1):
                    if index in quorum.write_set(entry_id) and entry_id % 1000 == 0:
                        last = min(entry_id + 999, metadata.last_entry_id)
                        run = channel.read_range(ledger_id, entry_id, last)
                        payloads = digest.verify_run(run)
                        assert len(payloads) == last - entry_id + 1
                        for offset, payload in enumerate(payloads):
                            assert entries.setdefault(entry_id + offset, payload) == payload
        assert sorted(entries) == list(range(metadata.last_entry_id + 1))
        return [entries[entry_id] for entry_id in sorted(entries)]

    def sweep_all(self) -> Any:
        """Sweep without any grace time, and check that published ledgers stay."""
        before = self.published_ids(), self.rows()
        report = sweep(self.uri, self.name, grace_s=0.0, now_s=time.time() + 1)
        assert (self.published_ids(), self.rows()) == before
        assert set(self.ledgers()) == set(before[0])
        assert all(each.deleted and not each.error for each in report.leftovers)
        return report

"""A bookie of ours is killed again and again under load: its acknowledged entries and fences are there afterwards.

The kernel keeps the bytes that a killed process had written, synced or not; tests/simulation tests the loss of power.
"""

import itertools
import random
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bookkeeper_tx.errors import LedgerFenced
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support import raw_requests
from tests.integration.support.append_stream import AppendStream
from tests.integration.support.our_client import FACES, OurClient, append, face_of_clients, poll, read, wait_for
from tests.sampling import only

pytestmark = pytest.mark.crash

CLIENTS = 3
WINDOW = 100
"""Appends that each client has on their way."""

ACKNOWLEDGED_MIN = 1000
"""Entries acknowledged between a start and the next kill."""

FENCES_LOOKED_AT = 100
"""Fences checked after each start, by chance; all of them in the end."""

KILLS, KILLS_FULL = 8, 60

#: Small enough that everything happens between two kills: flushes, new entry logs, new and removed journals.
SETTINGS = {
    "skipListSizeLimit": 256 * 1024,
    "logSizeLimit": 1024 * 1024,
    "journalMaxSizeMB": 1,
    "journalMaxBackups": 0,
    "flushInterval": 300,
    "pageLimit": 16,
    "openFileLimit": 8,
}

SIZES = (0, 20, 100, 101, 500, 1000, 4000)
UNKNOWN_LEDGERS = itertools.count(1_000_000_000)
ABSENT_ENTRY = 1_000_000


def payload_of(index: int) -> bytes:
    size = SIZES[index % len(SIZES)]
    return (index.to_bytes(8, "big") * (size // 8 + 1))[:size]


class Ordeal:
    """One bookie, and the state that it must keep: ledger id to entries, and the fenced ledgers."""

    def __init__(self, cluster: LocalCluster, seed: int) -> None:
        self.cluster = cluster
        self.bookie = cluster.bookies[0]
        self.random = random.Random(seed)
        self.first_face = seed
        self.acknowledged: dict[int, int] = {}
        """How many entries of a ledger were acknowledged, from 0 on."""
        self.fenced: set[int] = set()
        self.kills = 0

    def round(self) -> None:
        """A round with the clients of one face, the next one in turn."""
        faces = list(FACES)
        with face_of_clients(faces[(self.first_face + self.kills) % len(faces)]):
            self.round_of_a_face()

    def round_of_a_face(self) -> None:
        """Load, fences, a kill in the middle, a start, and a check of this round's ledgers."""
        with ExitStack() as stack:
            clients = [stack.enter_context(OurClient(self.cluster.metadata_uri)) for _ in range(CLIENTS)]
            streams = [AppendStream(client.create_ledger(), payload_of, WINDOW) for client in clients]
            for stream in streams:
                wait_for(stream.start)
            self.fence_something(clients)
            assert poll(lambda: enough(streams), interval_s=0.01), "the bookie acknowledges too little"
            time.sleep(self.random.uniform(0, 0.05))
            self.fence(next(UNKNOWN_LEDGERS))
            assert all(stream.error is None and stream.outstanding for stream in streams)
            self.bookie.kill()
            self.kills += 1
            for stream in streams:
                wait_for(stream.stop)
        for stream in streams:
            # Futures of the client whose calls wait end together: a callback that is set just then is called first.
            assert sorted(stream.acknowledged) == list(range(len(stream.acknowledged)))
            self.acknowledged[stream.ledger_id] = len(stream.acknowledged)
        self.start()
        self.check([stream.ledger_id for stream in streams])
        self.check_fences(sorted(self.fenced, key=lambda _: self.random.random())[:FENCES_LOOKED_AT])

    def fence_something(self, clients: list[OurClient]) -> None:
        """A ledger just written to, recovered by another client; and one that was written to before earlier kills."""
        writer = clients[0].create_ledger()
        append(writer, [payload_of(index) for index in range(20)])
        clients[1].open_ledger(writer.ledger_id)
        self.acknowledged[writer.ledger_id] = 20
        self.fenced.add(writer.ledger_id)
        with pytest.raises(LedgerFenced):
            append(writer, [b"too late"])
        others = sorted(self.acknowledged.keys() - self.fenced)
        if others:
            self.fence(self.random.choice(others))

    def fence(self, ledger_id: int) -> None:
        """Fence a ledger with nothing but the request; the reply makes it a promise."""
        raw_requests.fence(self.bookie.port, ledger_id)
        self.fenced.add(ledger_id)

    def start(self) -> None:
        """Start the bookie; now and then it is killed once more amid its replay."""
        if self.kills % 3 == 0:
            self.bookie.launch()
            time.sleep(self.random.uniform(0.2, 0.8))
            self.bookie.kill()
        self.cluster.restart(0)

    def check(self, ledger_ids: list[int]) -> None:
        """Every acknowledged entry is there; half of the ledgers are recovered too, which must not cut them."""
        with OurClient(self.cluster.metadata_uri) as client:
            for ledger_id in ledger_ids:
                count = self.acknowledged[ledger_id]
                reader = client.open_ledger(ledger_id, recovery=ledger_id % 2 == 0)
                if reader.closed:
                    self.fenced.add(ledger_id)
                    assert reader.last_add_confirmed >= count - 1
                    found = read(reader, 0, count - 1, batch=True)
                else:
                    found = list(wait_for(reader.read_unconfirmed, 0, count - 1).payloads)
                assert found == [payload_of(index) for index in range(count)]

    def check_fences(self, ledger_ids: Iterable[int]) -> None:
        for ledger_id in ledger_ids:
            with pytest.raises(LedgerFenced):
                raw_requests.add(self.bookie.port, ledger_id, ABSENT_ENTRY, [b"too late"])


def enough(streams: list[AppendStream]) -> bool:
    counts = [len(stream.acknowledged) for stream in streams]
    return sum(counts) >= ACKNOWLEDGED_MIN and min(counts) >= WINDOW


@pytest.fixture(params=only("SortedLedgerStorage", ["SortedLedgerStorage", "DbLedgerStorage"]))
def ordeal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ordeal]:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    if request.param == "DbLedgerStorage":
        pytest.importorskip("rocksdict")
    settings = {**SETTINGS, "ledgerStorageClass": request.param}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        yield Ordeal(cluster, seed)


def survive(ordeal: Ordeal, kills: int) -> None:
    while ordeal.kills < kills:
        ordeal.round()
    logs = {path.name for path in Path(ordeal.bookie.directory).rglob("current/*.log")}
    journals = {path.name for path in Path(ordeal.bookie.directory).rglob("current/*.txn")}
    assert len(logs) > kills / 2, "entry logs were not rolled between the kills"
    assert len(journals) < kills, "journals before the mark were not removed"
    ordeal.check(sorted(ordeal.acknowledged))
    ordeal.check_fences(ordeal.fenced)
    assert sum(ordeal.acknowledged.values()) >= kills * ACKNOWLEDGED_MIN


@pytest.mark.timeout(600)
def test_acknowledged_entries_and_fences_survive_kills(ordeal):
    survive(ordeal, KILLS)


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_acknowledged_entries_and_fences_survive_many_kills(ordeal):
    survive(ordeal, KILLS_FULL)

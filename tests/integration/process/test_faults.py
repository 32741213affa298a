"""A ledger is written while its bookies are killed, stopped and cut off: what was acknowledged is there afterwards.

Four bookies, each behind a link; one of the ensemble has a fault at a time, so that three are left.  A client of each
face writes in turn, and one of the next face takes its ledgers over and reads them.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.our_client import FACES, OurClient, face_of_clients, make_driver, poll, read, wait_for
from tests.integration.support.slow_link import SlowLink, reached_over
from tests.integration.support.stopped import stopped

pytestmark = pytest.mark.crash

BOOKIES = 4
BURST = 10
PAUSE_S = 0.01
TIMEOUT_S = 0.5
RATE = 100e6
PROGRESS = 100
"""Entries acknowledged before, during and after a fault."""

ROUNDS, ROUNDS_FULL = 9, 27


def payload_of(entry_id: int) -> bytes:
    return b"%d " % entry_id * (entry_id % 50)


class Writing:
    """Bursts of appends to one ledger after the other, each as long as it takes them."""

    def __init__(self, client: OurClient, ack_quorum_size: int) -> None:
        self.client = client
        self.ack_quorum_size = ack_quorum_size
        self.acknowledged: dict[int, int] = {}
        """Ledger id to the number of entries that were acknowledged, from 0 on."""
        self.count = 0
        """Of all ledgers."""
        self.errors: list[BookKeeperError] = []
        self._over = False
        self._run: Any = None
        self._writer: Any = None

    @property
    def ensemble(self) -> Sequence[str]:
        """The bookies that are written to."""
        ensemble: Sequence[str] = self._writer.metadata.last_fragment.ensemble
        return ensemble

    def start(self) -> None:
        self._run = wait_for(lambda: [make_driver().spawn(self._write())])[0]

    def stop(self) -> None:
        self._over = True
        wait_for(lambda: self._run)

    async def _write(self) -> None:
        while not self._over:
            try:
                await self._write_one()
            except BookKeeperError as error:
                self.errors.append(error)
                await self._pause(0.1)

    async def _write_one(self) -> None:
        writer = await self.client.bookkeeper.create_ledger(3, 3, self.ack_quorum_size)
        self.acknowledged[writer.ledger_id] = 0
        self._writer = writer
        while not self._over:
            first = self.acknowledged[writer.ledger_id]
            for promise in [writer.append(payload_of(first + index)) for index in range(BURST)]:
                assert await promise == self.acknowledged[writer.ledger_id]
                self.acknowledged[writer.ledger_id] += 1
                self.count += 1
            await self._pause(PAUSE_S)
        await writer.close()

    async def _pause(self, seconds: float) -> None:
        driver = make_driver()
        over = driver.promise()
        driver.clock.callLater(seconds, over.callback, None)
        await over


class Faults:
    """Bookies behind links, one of which has a fault now and then."""

    def __init__(self, cluster: LocalCluster, links: dict[str, SlowLink], seed: int) -> None:
        self.cluster = cluster
        self.links = links
        self.random = random.Random(seed)

    def round(self, writer_face: str, reader_face: str, fault: str) -> None:
        with reached_over(self.links, self.cluster.metadata_uri):
            with face_of_clients(writer_face), self.client() as client:
                writing = Writing(client, ack_quorum_size=self.random.choice([2, 3]))
                writing.start()
                goes_on(writing)
                with getattr(self, fault)(self.random.choice(writing.ensemble)):
                    goes_on(writing)
                goes_on(writing)
                writing.stop()
            with face_of_clients(reader_face), self.client() as client:
                for ledger_id, count in writing.acknowledged.items():
                    reader = client.open_ledger(ledger_id)
                    assert reader.last_add_confirmed >= count - 1, writing.errors
                    if count:
                        assert read(reader, 0, count - 1) == [payload_of(entry_id) for entry_id in range(count)]

    def client(self) -> OurClient:
        return OurClient(self.cluster.metadata_uri, add_timeout_s=TIMEOUT_S, read_timeout_s=TIMEOUT_S)

    @contextmanager
    def killed(self, bookie_id: str) -> Iterator[None]:
        index = self.cluster.index_of(bookie_id)
        self.cluster.kill(index)
        yield
        self.cluster.restart(index)

    def stopped(self, bookie_id: str) -> AbstractContextManager[None]:
        """It does nothing, as on a machine that hangs, and then all that it has not done."""
        return stopped(self.cluster.bookies[self.cluster.index_of(bookie_id)].pid)

    @contextmanager
    def cut_off(self, bookie_id: str) -> Iterator[None]:
        """Nothing passes to it and from it, and no end is told."""
        link = self.links[bookie_id]
        assert link.flows
        link.sever()
        try:
            yield
        finally:
            link.mend()


FAULTS = ("killed", "stopped", "cut_off")


def goes_on(writing: Writing) -> None:
    before = writing.count
    assert poll(lambda: writing.count >= before + PROGRESS, interval_s=0.01), writing.errors


@pytest.fixture
def faults(tmp_path: Path) -> Iterator[Faults]:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    with ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster(tmp_path, BOOKIES))
        links = {each.bookie_id: stack.enter_context(SlowLink(each.port, RATE)) for each in cluster.bookies}
        yield Faults(cluster, links, seed)


def survive(faults: Faults, rounds: int) -> None:
    faces, kinds = faults.random.sample(list(FACES), 3), faults.random.sample(FAULTS, 3)
    for number in range(rounds):
        # In nine rounds each face meets each fault.
        kind = kinds[(number + number // 3) % 3]
        faults.round(faces[number % 3], faces[(number + 1) % 3], kind)


@pytest.mark.timeout(300)
def test_what_was_acknowledged_survives_kills_stops_and_partitions(faults: Faults) -> None:
    survive(faults, ROUNDS)


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_what_was_acknowledged_survives_many_kills_stops_and_partitions(faults: Faults) -> None:
    survive(faults, ROUNDS_FULL)

"""As test_crash, for the operations of V3 alone: ledgers of other scopes, forces, explicit last add confirmed."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, LedgerFenced, NoSuchEntry
from bookkeeper_tx.model import DigestType, LedgerId
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed
from bookkeeper_tx.testing.local_cluster import LocalCluster
from protocol_specs.fields import LAST_ENTRY, NO_ENTRY
from protocol_specs.wire.operations import Flag
from tests.integration.process.test_crash import ABSENT_ENTRY, ACKNOWLEDGED_MIN, SETTINGS, WINDOW, Ordeal, payload_of
from tests.integration.support.append_stream import AppendStream
from tests.integration.support.our_client import OurClient, append, face_of_clients, make_driver, poll, read, wait_for

pytestmark = pytest.mark.crash

KILLS, KILLS_FULL = 4, 24
DIGEST = EntryDigest(DigestType.CRC32C, b"")


class Forces:
    """One force of a ledger with deferred sync after the other, until one fails."""

    def __init__(self, writer: LedgerWriter) -> None:
        self.writer = writer
        self.forced = NO_ENTRY
        """The last entry that a force has reported as durable."""
        self.count = 0
        self.error: BaseException | None = None

    async def run(self) -> None:
        try:
            while True:
                await self.writer.force()
                self.forced = self.writer.last_add_confirmed
                self.count += 1
        except BookKeeperError as error:
            self.error = error

    def start(self) -> None:
        make_driver().spawn(self.run())


def add(ledger_id: int, entry: bytes, channel: Any, done: Any) -> None:
    channel.add_entry(ledger_id, ABSENT_ENTRY, entry, DIGEST.master_key, done)


class V3Ordeal(Ordeal):
    """Forced entries, fences and published last adds confirmed of any scope are there after every kill."""

    def __init__(self, cluster: LocalCluster, seed: int) -> None:
        super().__init__(cluster, seed)
        self.published: dict[int, int] = {}
        """The explicit last add confirmed of a ledger, once it was acknowledged."""
        self.forces = 0

    def round_of_a_face(self) -> None:
        with ExitStack() as stack:
            client, other = (stack.enter_context(self.client()) for _ in range(2))
            streams = [
                AppendStream(self.create(client, **options), payload_of, WINDOW)
                for options in ({}, {"ledger_id": LedgerId.random()})
            ]
            deferring = [
                AppendStream(self.create(client, deferred_sync=True, **options), payload_of, WINDOW)
                for options in ({}, {"ledger_id": LedgerId.random()})
            ]
            forces = [Forces(stream.writer) for stream in deferring]
            for each in (*streams, *deferring, *forces):
                wait_for(each.start)
            self.fence_and_publish(client, other)
            assert poll(lambda: self.enough([*streams, *deferring], forces), interval_s=0.01), "too little is done"
            time.sleep(self.random.uniform(0, 0.05))
            self.fence_unknown()
            self.bookie.kill()
            self.kills += 1
            for stream in (*streams, *deferring):
                wait_for(stream.stop)
            assert poll(lambda: all(each.error is not None for each in forces))
        for stream in streams:
            self.acknowledged[stream.ledger_id] = len(stream.acknowledged)
        for each in forces:
            self.acknowledged[each.writer.ledger_id] = each.forced + 1
            self.forces += each.count
        self.start()
        self.check([each.ledger_id for each in (*streams, *deferring)])
        self.check_fences(sorted(self.fenced, key=lambda _: self.random.random())[:40])

    @staticmethod
    def enough(streams: list[AppendStream], forces: list[Forces]) -> bool:
        counts = [len(stream.acknowledged) for stream in streams]
        return sum(counts) >= ACKNOWLEDGED_MIN and min(counts) >= WINDOW and all(each.count >= 3 for each in forces)

    def fence_and_publish(self, client: OurClient, other: OurClient) -> None:
        """A scoped ledger just written to, published to its end, and recovered by another client."""
        writer = self.create(client, ledger_id=LedgerId.random())
        append(writer, [payload_of(index) for index in range(20)])
        self.published[writer.ledger_id] = wait_for(writer.write_last_add_confirmed)
        other.open_ledger(writer.ledger_id)
        self.acknowledged[writer.ledger_id] = 20
        self.fenced.add(writer.ledger_id)
        with pytest.raises(LedgerFenced):
            append(writer, [b"too late"])

    def fence_unknown(self) -> None:
        """A fence of a scoped ledger that the bookie does not know: after the reply the bookie must keep it."""
        ledger_id = LedgerId.random()
        with self.asking() as client, pytest.raises(NoSuchEntry):
            self.ask(
                client,
                lambda channel, done: channel.read_entry(
                    ledger_id, LAST_ENTRY, done, flags=Flag.FENCING, master_key=DIGEST.master_key
                ),
            )
        self.fenced.add(ledger_id)

    def check(self, ledger_ids: list[int]) -> None:
        with self.client() as client:
            for ledger_id in ledger_ids:
                count = self.acknowledged[ledger_id]
                reader = client.open_ledger(ledger_id, recovery=self.random.random() < 0.5)
                if reader.closed:
                    self.fenced.add(ledger_id)
                    assert reader.last_add_confirmed >= count - 1
                    found = read(reader, 0, count - 1, batch=True)
                else:
                    found = list(wait_for(reader.read_unconfirmed, 0, count - 1).payloads)
                assert found == [payload_of(index) for index in range(count)]
        with self.asking() as client:
            for ledger_id, last_add_confirmed in self.published.items():
                request = ReadLastAddConfirmed(ledger_id)
                body, _ = self.ask(client, lambda channel, done, request=request: channel.send(request, done))
                assert DIGEST.verify_last_add_confirmed(ledger_id, body) == last_add_confirmed

    def check_fences(self, ledger_ids: Any) -> None:
        with self.asking() as client:
            for ledger_id in ledger_ids:
                entry = DIGEST.seal(ledger_id, ABSENT_ENTRY, NO_ENTRY, 8, b"too late")
                with pytest.raises(LedgerFenced):
                    self.ask(client, partial(add, ledger_id, entry))

    # Clients -------------------------------------------------------------------------------------------------------

    def client(self) -> OurClient:
        return OurClient(self.cluster.metadata_uri, protocol="v3")

    @staticmethod
    def create(client: OurClient, **options: Any) -> LedgerWriter:
        return wait_for(client.bookkeeper.create_ledger, 1, 1, 1, DigestType.CRC32C, **options)

    @contextmanager
    def asking(self) -> Iterator[OurClient]:
        """A client for :meth:`ask`, whatever the face of the others: its channels can be used by themselves."""
        with face_of_clients("twisted"), self.client() as client:
            yield client

    def ask(self, client: OurClient, send: Callable[[Any, Any], object]) -> Any:
        """Have ``send(channel, done)`` send one request without a client's checks; raises the bookie's error."""

        def request() -> Deferred[Any]:
            answer: Deferred[Any] = Deferred()

            def done(error: BookKeeperError | None, value: Any) -> None:
                answer.callback(value) if error is None else answer.errback(error)

            channel = client.bookkeeper._context.channels.channel(self.bookie.bookie_id)
            send(channel, done)
            return answer

        return wait_for(request)


@pytest.fixture
def ordeal(tmp_path: Path) -> Iterator[V3Ordeal]:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    with LocalCluster(tmp_path, 1, settings=SETTINGS) as cluster:
        yield V3Ordeal(cluster, seed)


def survive(ordeal: V3Ordeal, kills: int) -> None:
    while ordeal.kills < kills:
        ordeal.round()
    names = {path.name for path in Path(ordeal.bookie.directory).rglob("current/*")}
    assert any(name.endswith(".log128") for name in names)
    assert any(name.endswith(".log") for name in names)
    ordeal.check(sorted(ordeal.acknowledged))
    ordeal.check_fences(ordeal.fenced)
    assert ordeal.forces >= 6 * kills


def test_a_bookie_killed_before_the_force_cannot_be_forced_afterwards(ordeal):
    with ordeal.client() as client:
        writer = ordeal.create(client, deferred_sync=True)
        append(writer, [bytes(10_000)] * 20)
        wait_for(writer.force)
        append(writer, [bytes(10_000)] * 300)
        ordeal.bookie.kill()
        ordeal.cluster.restart(0)
        with pytest.raises(BookieUnavailable, match="connection was lost"):
            wait_for(writer.force)
        wait_for(writer.close)
        assert client.metadata(writer.ledger_id).last_entry_id == 19


@pytest.mark.full
@pytest.mark.timeout(300)
def test_what_was_told_of_any_scope_survives_kills(ordeal):
    survive(ordeal, KILLS)


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_what_was_told_of_any_scope_survives_many_kills(ordeal):
    survive(ordeal, KILLS_FULL)

"""The sweeper: ledgers that no manifest names are deleted, ledgers that one names stay."""

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookieUnavailable, MetadataUnavailable
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata, LedgerState, Versioned
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.spark.sink import sweep as sweeping
from bookkeeper_tx.spark.sink.manifest import EpochAbandoned, EpochKey, PublishedLedger, publish, read_manifest
from bookkeeper_tx.spark.sink.mark import SinkMark
from bookkeeper_tx.spark.sink.sweep import Reason, sweep
from tests.spark.writing.memory_store import MemoryStore

NOW_S = 1_000_000.0
GRACE_S = 3600.0
KEY = EpochKey("query", 0)


class World:
    def __init__(self):
        self.store = MemoryStore()
        self.recovered = []
        self.unrecoverable = {}

    def ledger(self, ledger_id, key=KEY, *, age_s=0.0, state=LedgerState.CLOSED, sink_id="sink", marked=True):
        metadata = LedgerMetadata(
            1,
            1,
            1,
            (Fragment(0, ("a",)),),
            DigestType.CRC32C,
            b"secret",
            state,
            custom_metadata=SinkMark(sink_id, key, 0, 0, 7).to_custom_metadata() if marked else {},
            ctime_ms=int((NOW_S - age_s) * 1000),
        )
        self.store.ledgers[ledger_id] = Versioned(metadata, 0)
        return PublishedLedger(ledger_id, 9, 100)

    def sweep(self, sink_id="sink", **more):
        def recover(uri, ledger_ids, password, digest_type, timeout_s):
            assert (uri, password, digest_type) == ("uri://", b"secret", DigestType.CRC32C)
            self.recovered += ledger_ids
            return {each: error for each, error in self.unrecoverable.items() if each in ledger_ids}

        return sweep(
            "uri://",
            sink_id,
            grace_s=GRACE_S,
            now_s=NOW_S,
            open_store=lambda *_: self.store,
            recover=recover,
            **more,
        )


@pytest.fixture
def world():
    return World()


def test_losers_of_a_published_epoch_go_at_once_and_its_ledgers_stay(world):
    publish(world.store, "sink", KEY, [world.ledger(1), world.ledger(2)])
    world.ledger(3)
    report = world.sweep()
    assert [(each.ledger_id, each.reason, each.deleted) for each in report.leftovers] == [(3, Reason.LOST, True)]
    assert (report.published, report.young) == (2, 0)
    assert sorted(world.store.ledgers) == [1, 2]


def test_what_is_not_published_waits_for_the_grace_time(world):
    world.ledger(1, age_s=GRACE_S - 1)
    world.ledger(2, age_s=GRACE_S + 1)
    report = world.sweep()
    assert [(each.ledger_id, each.reason) for each in report.leftovers] == [(2, Reason.OLD)]
    assert report.young == 1
    assert sorted(world.store.ledgers) == [1]


def test_open_ledgers_are_fenced_first(world):
    world.ledger(1, age_s=GRACE_S + 1, state=LedgerState.OPEN)
    world.ledger(2, age_s=GRACE_S + 1, state=LedgerState.IN_RECOVERY)
    world.ledger(3, age_s=GRACE_S + 1)
    world.sweep()
    assert world.recovered == [1, 2]
    assert world.store.ledgers == {}


def test_bookies_are_spoken_to_as_they_want_it(world, monkeypatch):
    seen = []
    monkeypatch.setattr(sweeping, "recover_ledgers", lambda *_, config: seen.append(config) or {})
    world.ledger(1, age_s=2 * GRACE_S, state=LedgerState.OPEN)
    config = ClientConfig(tls=TlsConfig(trust_path="/t.pem"))
    sweep("uri://", now_s=NOW_S, grace_s=GRACE_S, open_store=lambda *_: world.store, config=config)
    assert seen == [config]


def test_the_store_is_spoken_to_as_it_wants_it(world):
    opened = []
    security = MetadataSecurity(tls=TlsConfig(trust_path="/t.pem"))

    def open_store(*arguments):
        opened.append(arguments)
        return world.store

    sweep("zk://h/l", timeout_s=3, open_store=open_store, config=ClientConfig(metadata_security=security))
    sweep("zk://h/l", timeout_s=3, open_store=open_store)
    assert opened == [("zk://h/l", 3, security), ("zk://h/l", 3, None)]


def test_what_cannot_be_fenced_is_deleted_and_says_why(world):
    world.ledger(1, age_s=GRACE_S + 1, state=LedgerState.OPEN)
    world.unrecoverable = {1: BookieUnavailable("bookie a is gone")}
    (leftover,) = world.sweep().leftovers
    assert leftover.deleted
    assert leftover.error == "bookie a is gone"


def test_ledgers_of_others_are_not_looked_at(world):
    world.ledger(1, age_s=GRACE_S + 1, sink_id="another")
    world.ledger(2, age_s=GRACE_S + 1, marked=False)
    assert world.sweep().leftovers == ()
    assert sorted(world.store.ledgers) == [1, 2]
    assert [each.ledger_id for each in world.sweep(None).leftovers] == [1]


def test_a_dry_run_finds_and_changes_nothing(world):
    publish(world.store, "sink", KEY, [world.ledger(1)])
    world.ledger(2, state=LedgerState.OPEN)
    world.ledger(3, EpochKey("query", 1), age_s=GRACE_S + 1)
    before = dict(world.store.ledgers), dict(world.store.documents)
    report = world.sweep(dry_run=True)
    assert {(each.ledger_id, each.deleted) for each in report.leftovers} == {(2, False), (3, False)}
    assert (world.store.ledgers, world.store.documents) == before
    assert world.recovered == []


def test_a_slow_driver_is_refused_what_was_swept(world):
    mine = world.ledger(1, age_s=GRACE_S + 1)
    world.sweep()
    with pytest.raises(EpochAbandoned):
        publish(world.store, "sink", KEY, [mine])


def test_a_driver_that_publishes_while_it_is_swept_wins_or_is_refused(world):
    """A driver may publish before any request of the sweeper: every ledger that the manifest names exists."""
    outcomes = set()
    for moment in range(20):
        world = World()
        mine = [world.ledger(1, age_s=GRACE_S + 1), world.ledger(2, age_s=GRACE_S + 1)]
        requests = 0

        def before(request, world=world, mine=mine, moment=moment):
            nonlocal requests
            requests += 1
            if requests == moment + 1:
                world.store.before = lambda request: None
                try:
                    publish(world.store, "sink", KEY, mine)
                    outcomes.add("published")
                except EpochAbandoned:
                    outcomes.add("refused")

        world.store.before = before
        world.sweep()
        named = [each.ledger_id for _, epoch in read_manifest(world.store, "sink") for each in epoch]
        assert set(named) <= world.store.ledgers.keys()
        assert named or not world.store.ledgers
    assert outcomes == {"published", "refused"}


def test_what_cannot_be_deleted_now_is_found_by_the_next_sweep(world):
    world.ledger(1, age_s=GRACE_S + 1)

    def fail(request):
        if request == "delete_ledger":
            raise MetadataUnavailable("no answer")

    world.store.before = fail
    (leftover,) = world.sweep().leftovers
    assert not leftover.deleted
    assert leftover.error == "no answer"
    world.store.before = lambda request: None
    (again,) = world.sweep().leftovers
    assert again.deleted
    assert world.store.ledgers == {}


def test_marks_come_back_from_custom_metadata():
    mark = SinkMark("sink/with.signs", EpochKey("batch-app", 12), 3, 1, 99)
    assert SinkMark.of(mark.to_custom_metadata()) == mark
    assert SinkMark.of({}) is None
    assert SinkMark.of({**mark.to_custom_metadata(), "epoch": b"x"}) is None

"""Writing without a reactor: the ledgers that are written, whatever the bookies do."""

from random import Random

import pytest

from bookkeeper_tx.client.writers_metadata import UNDER_REPLICATED
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    InvalidArgument,
    LedgerClosed,
    LedgerFenced,
    MetadataConflict,
    NotEnoughBookies,
    Unauthorized,
)
from bookkeeper_tx.model import DigestType, LedgerState
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.bookies.rate_limit import BURST_S, PORTION_S, RateLimit
from bookkeeper_tx.spark.writing.ledger_sequence import LedgerPlan, LedgerSequence
from protocol_specs.wire import status as statuses
from tests.spark.writing.memory_store import MemoryStore
from tests.spark.writing.puppet_bookies import PuppetCluster

PASSWORD = b"secret"
CONFIG = ClientConfig(add_timeout_s=5.0)


class World:
    """A cluster of puppets and one sequence of ledgers on it."""

    def __init__(self, bookies, quorum, **plan):
        self.cluster = PuppetCluster(*bookies)
        self.store = MemoryStore(bookies)
        self.quorum = Quorum(*quorum)
        self.plan = LedgerPlan(quorum=self.quorum, password=PASSWORD, custom_metadata={"who": b"me"}, **plan)
        self.sequence = LedgerSequence(
            self.store,
            self.plan,
            CONFIG,
            connect=self.cluster.connect,
            random=Random(1),
            clock=self.cluster.clock,
            make_selector=self.cluster.make_selector,
            sleep=self.cluster.clock.sleep,
        )

    def write(self, payloads):
        self.sequence.append_many(payloads)
        return self.sequence.close()

    def stored(self, ledger_id):
        """Return the payloads of a closed ledger, each verified on every bookie of its write set that has it."""
        metadata = self.store.ledgers[ledger_id].metadata
        assert metadata.state is LedgerState.CLOSED
        digest = EntryDigest(DigestType.CRC32C, PASSWORD)
        payloads, length = [], 0
        lacking = metadata.custom_metadata.get(UNDER_REPLICATED, b"").decode().split(",")
        for entry_id in range(metadata.last_entry_id + 1):
            copies = set()
            for index in self.quorum.write_set(entry_id):
                bookie_id = metadata.last_fragment.ensemble[index]
                entry = self.cluster[bookie_id].entries.get(ledger_id, {}).get(entry_id)
                if entry is None:
                    assert bookie_id in lacking, f"{bookie_id} lacks {entry_id} and the ledger does not say so"
                    continue
                _, confirmed, entry_length, payload = digest.verify(ledger_id, entry_id, entry)
                assert confirmed < entry_id
                assert confirmed <= metadata.last_entry_id
                copies.add((payload, entry_length))
            ((payload, entry_length),) = copies
            length += len(payload)
            assert entry_length == length
            payloads.append(payload)
        assert metadata.length == length
        return payloads

    def everything(self):
        return [payload for each in self.sequence.written for payload in self.stored(each.ledger_id)]


def numbered(count, size=20):
    return [b"%0*d" % (size, each) for each in range(count)]


def test_entries_become_one_closed_ledger_on_its_whole_write_quorum():
    world = World(["a", "b", "c"], (3, 3, 2))
    world.sequence.append_many(numbered(3000))
    world.sequence.append_many(numbered(5, size=7))
    (written,) = world.sequence.close()
    assert written.last_entry_id == 3004
    assert written.length == 3000 * 20 + 5 * 7
    assert world.everything() == numbered(3000) + numbered(5, size=7)
    assert world.store.ledgers[written.ledger_id].metadata.custom_metadata == {"who": b"me"}


def test_striped_entries_go_to_their_write_sets_only():
    world = World(["a", "b", "c"], (3, 2, 2))
    world.sequence.append_many(numbered(999))
    (written,) = world.sequence.close()
    assert world.everything() == numbered(999)
    assert [len(world.cluster[each].entries[written.ledger_id]) for each in "abc"] == [666, 666, 666]


def test_without_entries_there_is_no_ledger():
    world = World(["a"], (1, 1, 1))
    world.sequence.append_many([])
    assert world.sequence.close() == []
    assert world.store.ledgers == {}


def test_empty_payloads_are_entries():
    world = World(["a"], (1, 1, 1))
    world.sequence.append_many([b"", b"", b"x"])
    world.sequence.close()
    assert world.everything() == [b"", b"", b"x"]


@pytest.mark.parametrize(
    ("limits", "entries_of_ledgers"),
    [
        ({"ledger_entries_max": 4}, [4, 4, 2]),
        ({"ledger_bytes_max": 50}, [3, 3, 3, 1]),
        ({"ledger_bytes_max": 1}, [1] * 10),
    ],
)
def test_a_full_ledger_is_followed_by_another(limits, entries_of_ledgers):
    world = World(["a"], (1, 1, 1), **limits)
    world.sequence.append_many(numbered(10))
    assert [each.last_entry_id + 1 for each in world.sequence.close()] == entries_of_ledgers
    assert world.everything() == numbered(10)
    assert world.cluster["a"].connections == 1


@pytest.mark.parametrize("at", [0, 1, 700, 2000, 4999])
@pytest.mark.parametrize("quorum", [(3, 3, 2), (3, 2, 1), (2, 2, 2)])
def test_a_bookie_that_dies_is_left_for_another_and_every_ledger_is_whole(at, quorum):
    world = World(["a", "b", "c", "d"], quorum)
    world.sequence.append_many(numbered(1))
    (ledger_id,) = world.store.ledgers
    victim = world.store.ledgers[ledger_id].metadata.last_fragment.ensemble[0]
    world.cluster[victim].dies_at = max(at, 1)
    world.cluster[victim].ledger = ledger_id
    world.sequence.append_many(numbered(5001)[1:])
    written = world.sequence.close()
    assert not world.cluster[victim].reachable
    assert world.everything() == numbered(5001)
    assert len(written) == 2
    assert [each.lacking for each in written] == [(), ()]
    assert victim not in world.store.ledgers[written[1].ledger_id].metadata.last_fragment.ensemble


def test_nothing_confirmed_leaves_no_ledger_behind():
    world = World(["a", "b"], (1, 1, 1))
    for bookie in world.cluster.bookies.values():
        bookie.ledger, bookie.dies_at = 0, 0
    world.sequence.append_many(numbered(10))
    (written,) = world.sequence.close()
    assert set(world.store.ledgers) == {written.ledger_id} == {1}
    assert world.everything() == numbered(10)


def test_a_silent_bookie_is_left_after_the_add_timeout():
    world = World(["a", "b"], (1, 1, 1))
    for bookie in world.cluster.bookies.values():
        bookie.ledger, bookie.silent_from = 0, 100
    world.sequence.append_many(numbered(500))
    began_s = world.cluster.clock.now_s
    first, second = world.sequence.close()
    assert world.cluster.clock.now_s - began_s == CONFIG.add_timeout_s
    assert (first.last_entry_id, second.last_entry_id) == (99, 399)
    assert world.everything() == numbered(500)


def test_a_bookie_that_refuses_is_left():
    world = World(["a", "b"], (1, 1, 1))
    for bookie in world.cluster.bookies.values():
        bookie.ledger, bookie.answers = 0, {30: statuses.EREADONLY}
    world.sequence.append_many(numbered(100))
    assert len(world.sequence.close()) == 2
    assert world.everything() == numbered(100)


def test_without_another_bookie_the_ledger_goes_on_and_says_who_lacks_entries():
    world = World(["a", "b", "c"], (3, 3, 2))
    world.cluster["b"].dies_at = 1500
    world.sequence.append_many(numbered(4000))
    (written,) = world.sequence.close()
    assert written.lacking == ("b",)
    assert world.store.ledgers[written.ledger_id].metadata.custom_metadata[UNDER_REPLICATED] == b"b"
    assert world.everything() == numbered(4000)


def test_the_next_ledger_takes_a_bookie_that_failed_if_there_is_no_other():
    world = World(["a", "b", "c"], (3, 3, 2), ledger_entries_max=1000)
    world.cluster["b"].ledger, world.cluster["b"].silent_from = 0, 500
    world.sequence.append_many(numbered(2500))
    assert [each.lacking for each in world.sequence.close()] == [("b",), (), ()]
    assert world.everything() == numbered(2500)


def test_less_than_an_ack_quorum_is_an_error_with_all_reasons():
    world = World(["a", "b", "c"], (3, 3, 2))
    world.cluster["b"].dies_at = world.cluster["c"].dies_at = 10
    with pytest.raises(NotEnoughBookies, match=r"(bookie [bc] is gone.*){2}start more bookies"):
        world.write(numbered(4000))
    assert [each.metadata.state for each in world.store.ledgers.values()] == [LedgerState.OPEN]


def test_bookies_that_cannot_be_reached_are_passed_over():
    world = World(["a", "b", "c"], (2, 2, 2))
    world.cluster["b"].reachable = False
    world.sequence.append_many(numbered(3))
    (written,) = world.sequence.close()
    assert sorted(world.store.ledgers[written.ledger_id].metadata.last_fragment.ensemble) == ["a", "c"]


def test_too_few_that_can_be_reached_are_named():
    world = World(["a", "b"], (2, 2, 2))
    world.cluster["b"].reachable = False
    with pytest.raises(NotEnoughBookies, match=r"b: cannot connect to bookie b"):
        world.sequence.append_many(numbered(3))
    assert world.store.ledgers == {}


@pytest.mark.parametrize(("status", "error"), [(statuses.EFENCED, LedgerFenced), (statuses.EUA, Unauthorized)])
def test_no_other_bookie_is_asked_when_the_ledger_was_taken_over(status, error):
    world = World(["a", "b"], (1, 1, 1))
    for bookie in world.cluster.bookies.values():
        bookie.answers = {3: status}
    with pytest.raises(error, match="ledger 0, bookie"), world.sequence:
        world.write(numbered(10))
    assert list(world.store.ledgers) == [0]


def test_a_ledger_that_another_client_closed_is_not_closed_again():
    world = World(["a"], (1, 1, 1))
    world.sequence.append_many(numbered(10))
    metadata = world.store.ledgers[0].metadata
    world.store.write_ledger(0, metadata.with_close(4, 100), 0)
    with pytest.raises(LedgerClosed, match="at entry 4"):
        world.sequence.close()


def test_a_close_that_finds_a_new_version_is_done_again():
    world = World(["a"], (1, 1, 1))
    world.sequence.append_many(numbered(10))
    world.store.write_ledger(0, world.store.ledgers[0].metadata, 0)
    conflicts = []
    write = world.store.write_ledger

    def watched(*arguments):
        try:
            return write(*arguments)
        except MetadataConflict as error:
            conflicts.append(error)
            raise

    world.store.write_ledger = watched
    world.sequence.close()
    assert len(conflicts) == 1
    assert world.everything() == numbered(10)


def test_a_payload_over_the_frame_limit_is_refused():
    world = World(["a"], (1, 1, 1))
    with pytest.raises(InvalidArgument, match="nettyMaxFrameSizeBytes"):
        world.sequence.append_many([b"x" * CONFIG.frame_size_max])


@pytest.mark.slow
def test_any_fault_plan_keeps_rows_and_order():
    """Random faults by seed: each run either ends with every row once, in order, or with an error."""
    ended = errors = rolled = 0
    for seed in range(300):
        random = Random(seed)
        bookies = [f"b{index}" for index in range(random.randint(3, 6))]
        quorum = random.choice([(3, 3, 2), (3, 2, 1), (2, 2, 1), (3, 3, 3), (1, 1, 1), (3, 2, 2)])
        world = World(bookies, quorum, ledger_entries_max=random.choice([None, 700, 50]))
        for bookie in world.cluster.bookies.values():
            fault = random.choice(["none", "none", "dies", "silent", "refuses", "unreachable"])
            if random.random() < 0.5:
                bookie.ledger = random.randint(0, 3)
            if fault == "dies":
                bookie.dies_at = random.randint(0, 1000)
            if fault == "silent":
                bookie.silent_from = random.randint(0, 1000)
            if fault == "refuses":
                bookie.answers = {random.randint(0, 1000): statuses.EIO}
            bookie.reachable = fault != "unreachable"
        rows = numbered(random.randint(1, 2500))
        try:
            with world.sequence:
                at = 0
                while at < len(rows):
                    step = random.randint(1, 900)
                    world.sequence.append_many(rows[at : at + step])
                    at += step
                world.sequence.close()
        except NotEnoughBookies:
            errors += 1
            continue
        assert world.everything() == rows, f"seed {seed}"
        ended += 1
        rolled += len(world.sequence.written) > 1
    assert min(ended, errors, rolled) > 30, (ended, errors, rolled)


# How fast ------------------------------------------------------------------------------------------------------------


STORED = 20 + EntryDigest(DigestType.CRC32C, PASSWORD).payload_offset


@pytest.mark.parametrize(("quorum", "share"), [((3, 3, 2), 1), ((3, 2, 2), 2 / 3)])
@pytest.mark.parametrize("limits", [RateLimit(entries_per_s=100), RateLimit(bytes_per_s=100 * STORED)])
def test_bookies_are_written_to_as_fast_as_they_may_be(quorum, share, limits):
    world = World(["a", "b", "c"], quorum, limits=limits)
    began = world.cluster.clock()
    stored_by = []
    payloads = [b"%020d" % each for each in range(1000)]
    for first in range(0, 1000, 250):
        world.sequence.append_many(payloads[first : first + 250])
        stored_by.append(world.cluster.clock() - began)
    world.sequence.close()
    # A piece is paid for when the next one is sent, so at the end of each part some tenths of a second are owed.
    expected = [max(0, end * share / 100 - BURST_S) for end in (250, 500, 750, 1000)]
    assert stored_by == pytest.approx(expected, abs=3 * PORTION_S)
    assert world.everything() == payloads


def test_what_is_written_again_counts_too():
    world = World(["a", "b", "c", "d"], (2, 2, 2), limits=RateLimit(entries_per_s=100))
    began = world.cluster.clock()
    for bookie in world.cluster.bookies.values():
        bookie.dies_at = 150
        bookie.ledger = 1
    payloads = [b"%d" % each for each in range(400)]
    world.write(payloads)
    assert world.everything() == payloads
    assert world.cluster.clock() - began >= 400 / 100 - 2 * BURST_S

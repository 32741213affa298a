"""bookkeeper_tx.bookie.integrity.full_check: what a wiped bookie copies, from puppets, onto a disk that crashes."""

from typing import Any

import pytest
from attrs import evolve
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import LogEvent
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.integrity import copying
from bookkeeper_tx.bookie.integrity.durable import LOOK_S
from bookkeeper_tx.client.deferred_handles import LedgerReader
from bookkeeper_tx.errors import BookieUnavailable, NoSuchEntry, UnknownLedgerState
from bookkeeper_tx.model import Entry, Fragment, LedgerState, Versioned
from tests.bookie.crashing_disk import CrashingDisk, new_disk
from tests.bookie.integrity.repaired import SELF, Repaired
from tests.client.puppets import Cluster
from tests.sampling import stride

pytestmark = pytest.mark.usefixtures("ledger_storage_class")

COUNT = 12


def cluster_of(*names: str) -> Cluster:
    return Cluster([SELF, *names])


def written(cluster: Cluster, *sizes: int, closed: bool = True, count: int = COUNT, size: int = 20) -> int:
    cluster._seed += 1  # other bookies than the ledger before
    writer = cluster.result(cluster.client().create_ledger(*sizes, password=b"secret"))
    if count:
        cluster.result(writer.append_many([bytes([at % 256]) * size for at in range(count)]))
    if closed:
        cluster.result(writer.close())
    cluster.network.run()
    return int(writer.ledger_id)


def stored(cluster: Cluster, ledger_id: int) -> dict[int, bytes]:
    """Return the entries that bookie ``b1`` had before it was wiped."""
    ledger = cluster.bookies[SELF].ledgers.get(ledger_id)
    return {} if ledger is None else ledger.entries


def step(cluster: Cluster) -> None:
    """Deliver a message; let time pass if there is none."""
    if cluster.network.messages:
        cluster.network.deliver()
    else:
        cluster.clock.advance(LOOK_S)


def in_order(bookie: Repaired, before: dict[int, dict[int, bytes]]) -> bool:
    """Whether the bookie has the same bytes as before, and says of others that they are missing."""
    for ledger_id, entries in before.items():
        wanted = [entries.get(each, NoSuchEntry) for each in range(COUNT + 1)]
        if bookie.answers(ledger_id, COUNT + 1) != wanted:
            return False
    return True


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 3, 2), (3, 2, 2), (3, 2, 1)])
def test_a_closed_ledger_has_the_same_bytes_in_the_end(disk: CrashingDisk, sizes: tuple[int, int, int]) -> None:
    cluster = cluster_of("b2", "b3")
    ledgers = [written(cluster, *sizes) for _ in range(5)]
    before = {each: dict(stored(cluster, each)) for each in ledgers if stored(cluster, each)}
    bookie = Repaired(cluster, disk)
    assert bookie.mark() == len(before)
    for ledger_id in before:
        assert set(bookie.answers(ledger_id, COUNT)) == {UnknownLedgerState}
    assert bookie.wait(bookie.check.run())
    assert in_order(bookie, before)
    bookie.crash()
    assert in_order(bookie, before)


def test_a_ledger_without_entries_and_one_of_other_bookies_are_in_order_at_once(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2")
    empty = written(cluster, 2, 2, 2, count=0)
    bookie = Repaired(cluster, disk)
    assert bookie.mark() == 1
    assert bookie.wait(bookie.check.run())
    assert bookie.answers(empty, 1) == [NoSuchEntry]


def test_a_ledger_whose_other_replicas_are_away_stays_in_limbo_and_the_others_go_on(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2", "b3")
    ledgers = [written(cluster, 2, 2, 2) for _ in range(12)]
    before = {each: dict(stored(cluster, each)) for each in ledgers if stored(cluster, each)}
    lost = {each for each in before if "b2" in cluster.metadata(each).fragments[0].ensemble}
    assert lost
    assert set(before) - lost
    bookie = Repaired(cluster, disk)
    bookie.mark()
    cluster.bookies["b2"].fails = BookieUnavailable("gone")
    for _ in range(2):
        assert not bookie.wait(bookie.check.run())
        for ledger_id, entries in before.items():
            wanted = [UnknownLedgerState if ledger_id in lost else entries[each] for each in range(COUNT)]
            assert bookie.answers(ledger_id, COUNT) == wanted
    cluster.bookies["b2"].fails = None
    bookie.crash()
    assert bookie.wait(bookie.check.run())
    assert in_order(bookie, before)


def test_entries_around_one_that_nobody_has_are_copied(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2")
    ledger_id = written(cluster, 2, 2, 2)
    before = dict(stored(cluster, ledger_id))
    del cluster.bookies["b2"].ledgers[ledger_id].entries[5]
    bookie = Repaired(cluster, disk)
    bookie.mark()
    assert not bookie.wait(bookie.check.run())
    wanted = [before[each] if each != 5 else UnknownLedgerState for each in range(COUNT)]
    assert bookie.answers(ledger_id, COUNT) == wanted


def test_an_open_ledger_is_recovered_first(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2", "b3", "b4")
    ledger_id = written(cluster, 4, 4, 2, closed=False)
    bookie = Repaired(cluster, disk)
    assert bookie.mark() == 1
    assert bookie.wait(bookie.check.run())
    assert cluster.metadata(ledger_id).state is LedgerState.CLOSED
    assert cluster.metadata(ledger_id).last_entry_id == COUNT - 1
    assert in_order(bookie, {ledger_id: cluster.bookies["b2"].ledgers[ledger_id].entries})


def test_a_ledger_that_goes_on_elsewhere_is_copied_and_its_writer_is_not_disturbed(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2", "b3")
    writer = cluster.result(cluster.client().create_ledger(2, 2, 2, password=b"secret"))
    while SELF not in writer.metadata.last_fragment.ensemble:
        writer = cluster.result(cluster.client().create_ledger(2, 2, 2, password=b"secret"))
        cluster._seed += 1
    cluster.result(writer.append_many([b"before"] * COUNT))
    before = dict(stored(cluster, int(writer.ledger_id)))
    cluster.bookies[SELF].fails = BookieUnavailable("gone")
    cluster.result(writer.append_many([b"after"] * 5))
    bookie = Repaired(cluster, disk)
    assert bookie.mark() == 1
    assert bookie.wait(bookie.check.run())
    assert bookie.answers(int(writer.ledger_id), COUNT) == [before[each] for each in range(COUNT)]
    assert cluster.result(writer.append(b"still open")) == COUNT + 5


def test_a_ledger_that_was_deleted_meanwhile_needs_nothing(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2")
    ledger_id = written(cluster, 2, 2, 2)
    bookie = Repaired(cluster, disk)
    bookie.mark()
    del cluster.state.ledgers[ledger_id]
    assert bookie.wait(bookie.check.run())
    assert bookie.answers(ledger_id, 1) == [UnknownLedgerState], "until the garbage collection finds it"


def test_a_closed_ledger_that_came_to_name_this_bookie_after_the_marking_is_copied(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2")
    bookie = Repaired(cluster, disk)
    bookie.mark()
    cluster.bookies[SELF].fails = None
    ledger_id = written(cluster, 2, 2, 2)
    before = {ledger_id: dict(stored(cluster, ledger_id))}
    cluster.bookies[SELF].fails = UnknownLedgerState()
    cluster.bookies["b2"].fails = BookieUnavailable("gone")
    assert not bookie.wait(bookie.check.run())
    assert set(bookie.answers(ledger_id, COUNT)) == {UnknownLedgerState}
    cluster.bookies["b2"].fails = None
    assert bookie.wait(bookie.check.run())
    assert in_order(bookie, before)
    ledger = bookie.storage.ledger(ledger_id)
    assert ledger is not None
    assert (ledger.fenced, ledger.limbo) == (True, False)


@pytest.mark.parametrize("closed", [True, False])
def test_a_ledger_that_was_given_to_other_bookies_since_the_marking_leaves_limbo(
    disk: CrashingDisk, closed: bool
) -> None:
    cluster = cluster_of("b2", "b3")
    ledgers = [written(cluster, 3, 3, 2, closed=closed) for _ in range(3)]
    bookie = Repaired(cluster, disk)
    assert bookie.mark() == 3
    for each in ledgers:
        versioned = cluster.state.ledgers[each]
        replaced = evolve(versioned.metadata, fragments=[Fragment(0, ("b4", "b2", "b3"))])
        cluster.state.ledgers[each] = Versioned(replaced, versioned.version + 1)
    assert bookie.wait(bookie.check.run())
    bookie.crash()
    for each in ledgers:
        assert set(bookie.answers(each, COUNT)) == {NoSuchEntry}
        assert cluster.metadata(each).closed == closed


def test_entries_that_are_here_are_not_copied_again(disk: CrashingDisk) -> None:
    """A bookie that Java has flagged, which has all, or most, of its entries."""
    cluster = cluster_of("b2")
    ledger_id = written(cluster, 2, 2, 2)
    before = {ledger_id: dict(stored(cluster, ledger_id))}
    bookie = Repaired(cluster, disk)
    bookie.mark()
    assert bookie.wait(bookie.check.run())
    cluster.bookies["b2"].requests.clear()
    bookie.crash()
    assert bookie.wait(bookie.check.run())
    assert not [each for each in cluster.bookies["b2"].requests if "read" in each]
    assert in_order(bookie, before)


@pytest.mark.parametrize(("size", "turns"), [(20, range(5)), (100_000, range(5, 10))])
def test_entries_of_a_striped_ledger_are_copied_many_in_a_turn_by_their_bytes(
    disk: CrashingDisk, size: int, turns: range
) -> None:
    cluster = cluster_of("b2", "b3")
    ledger_id = written(cluster, 3, 2, 2, count=200, size=size)
    before = dict(stored(cluster, ledger_id))
    bookie = Repaired(cluster, disk)
    bookie.mark()
    start_s = cluster.clock.seconds()
    assert bookie.wait(bookie.check.run())
    assert round((cluster.clock.seconds() - start_s) / LOOK_S) in turns
    assert [bookie.answers(ledger_id, 200)[each] for each in before] == list(before.values())


def test_of_a_striped_ledger_no_more_than_500_entries_are_read_together(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2", "b3")
    ledger_id = written(cluster, 3, 2, 2, count=2000, size=1)
    bookie = Repaired(cluster, disk)
    bookie.mark()
    checking, counts = Deferred.fromCoroutine(bookie.check.run()), [0]
    while not checking.called:
        counts.append(sum(f" read {ledger_id}/" in each.text for each in cluster.network.messages))
        step(cluster)
    assert max(counts) == 500
    assert checking.result


def test_what_is_read_together_is_bounded_where_entries_become_larger(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "SINGLES_BYTES_MAX", 50_000)
    cluster = cluster_of("b2", "b3")
    cluster._seed += 1
    writer = cluster.result(cluster.client().create_ledger(3, 2, 2, password=b"secret"))
    cluster.result(writer.append_many([b"x"] * 900))
    cluster.result(writer.append_many([bytes(1000)] * 600))
    cluster.result(writer.close())
    cluster.network.run()
    before = dict(stored(cluster, writer.ledger_id))
    bookie, held = Repaired(cluster, disk), Held()
    bookie.mark()
    read_entry = LedgerReader.read_entry
    monkeypatch.setattr(LedgerReader, "read_entry", lambda *arguments: held.count(read_entry(*arguments)))
    assert bookie.wait(bookie.check.run())
    assert held.bytes_max in range(50_000, 51_001)
    assert held.cancelled > 0
    assert [bookie.answers(writer.ledger_id, 1500)[each] for each in before] == list(before.values())


def test_a_check_that_is_cancelled_while_it_reads_ends(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2", "b3")
    ledger_id = written(cluster, 3, 2, 2, count=2000, size=1)
    bookie = Repaired(cluster, disk)
    bookie.mark()
    checking = Deferred.fromCoroutine(bookie.check.run())
    while not any(f" read {ledger_id}/" in each.text for each in cluster.network.messages):
        step(cluster)
    ended: list[object] = []
    checking.addBoth(ended.append)
    checking.cancel()
    (failure,) = ended
    assert isinstance(failure, Failure)
    assert failure.check(CancelledError)


class Held:
    """How many bytes of entries are held, from the first of reads that are made together to the end of the last."""

    def __init__(self) -> None:
        self.bytes_max = self.cancelled = 0
        self._under_way = self._bytes = 0

    def count(self, reading: Deferred[Entry]) -> Deferred[Entry]:
        self._under_way += 1
        return reading.addCallback(self._read).addErrback(self._failed).addBoth(self._end)

    def _read(self, entry: Entry) -> Entry:
        self._bytes += len(entry.payload)
        self.bytes_max = max(self.bytes_max, self._bytes)
        return entry

    def _failed(self, failure: Failure) -> Failure:
        self.cancelled += failure.check(CancelledError) is not None
        return failure

    def _end(self, result: Any) -> Any:
        self._under_way -= 1
        if not self._under_way:
            self._bytes = 0
        return result


def test_while_the_write_cache_is_full_nothing_is_copied(disk: CrashingDisk) -> None:
    cluster = cluster_of("b2")
    ledger_id = written(cluster, 2, 2, 2, count=1200, size=100)
    before = dict(stored(cluster, ledger_id))
    bookie = Repaired(cluster, disk, write_cache_bytes_max=20_000)
    bookie.mark()
    flush, bookie.storage.on_flush_wanted = bookie.storage.on_flush_wanted, lambda: None
    copied: list[int] = []

    def look() -> None:
        assert bookie.storage.full
        copied.append(sum(map(len, bookie.storage.unflushed_ranges(ledger_id))))

    for at_s in (4, 5):
        cluster.clock.callLater(at_s, look)
    cluster.clock.callLater(6, setattr, bookie.storage, "on_flush_wanted", flush)
    assert bookie.wait(bookie.check.run())
    assert cluster.clock.seconds() >= 6
    assert 0 < copied[0] == copied[1] < 1200
    assert bookie.answers(ledger_id, 1200) == list(before.values())


def test_a_pass_logs_no_line_for_each_ledger(disk: CrashingDisk, logged: list[LogEvent]) -> None:
    cluster = cluster_of("b2")
    for _ in range(30):
        written(cluster, 2, 2, 2, closed=False, count=2)
    bookie = Repaired(cluster, disk)
    bookie.mark()
    cluster.bookies["b2"].fails = BookieUnavailable("gone")
    logged.clear()
    assert not bookie.wait(bookie.check.run())
    assert 10 < len(logged) < 20


@pytest.mark.slow
def test_a_power_cut_at_any_step_leaves_no_lie_and_the_next_start_goes_on() -> None:
    step = 0
    while True:
        disk = new_disk(step)
        cluster = cluster_of("b2", "b3")
        ledgers = [written(cluster, 2, 2, 2), written(cluster, 3, 2, 2)]
        before = {each: dict(stored(cluster, each)) for each in ledgers if stored(cluster, each)}
        bookie = Repaired(cluster, disk)
        bookie.mark()
        disk.crash_at = step
        try:
            whole = bookie.wait(bookie.check.run())
        except Exception:  # the power is off
            whole = False
        bookie.crash()
        for ledger_id, entries in before.items():
            for entry_id, answer in enumerate(bookie.answers(ledger_id, COUNT)):
                wanted = entries.get(entry_id)
                assert answer in ((wanted, UnknownLedgerState) if wanted else (NoSuchEntry, UnknownLedgerState))
        assert bookie.wait(bookie.check.run())
        assert in_order(bookie, before)
        if whole:
            break
        step += stride()
    assert step > 10

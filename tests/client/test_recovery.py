"""Recovery: the guarantees of the protocol, under any order, loss and delay of messages."""

from copy import deepcopy
from random import Random
from typing import Any

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.client.open_ledger import open_ledger
from bookkeeper_tx.client.recovery import RULES, RecoveryRules
from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    DigestMismatch,
    InvalidArgument,
    LedgerFenced,
    RequestTimedOut,
    StorageFailed,
    Unauthorized,
    UnknownLedgerState,
)
from bookkeeper_tx.model import DigestType, Fragment, LedgerState, Versioned
from bookkeeper_tx.quorums.quorum import Quorum
from tests.client.open_ledgers import tailed
from tests.client.puppets import Cluster
from tests.sampling import examples

SIZES = [(3, 3, 2), (3, 2, 2), (4, 3, 2), (2, 2, 1), (3, 3, 3), (5, 3, 2), (1, 1, 1)]

FAILURES = (StorageFailed(), UnknownLedgerState(), RequestTimedOut())

ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["append"] * 4 + ["deliver"] * 16 + ["lose", "delay", "toggle", "recover", "recover", "close", "fail"]
        ),
        st.integers(0, 1000),
    ),
    max_size=150,
)


@define
class History:
    """A writer, recoverers, and the results that each of them got."""

    cluster: Cluster
    writer: LedgerWriter
    quorum: Quorum
    payloads: list[bytes] = field(factory=list)
    acknowledged: dict[int, bytes] = field(factory=dict)
    readers: list[LedgerReader] = field(factory=list)
    closed_at: list[int] = field(factory=list)

    def append(self) -> None:
        payload = b"payload %d" % len(self.payloads) * (len(self.payloads) % 3)
        self.payloads.append(payload)

        def acknowledged(entry_id: int) -> None:
            self.acknowledged[entry_id] = payload

        self.writer.append(payload).addCallbacks(acknowledged, _expected)

    def close(self) -> None:
        deferred = self.writer.close()
        deferred.addCallbacks(lambda _: self.closed_at.append(self.writer.last_add_confirmed), _expected)

    def recover(self, client: BookKeeper) -> None:
        client.open_ledger(self.writer.ledger_id, b"secret").addCallbacks(self.readers.append, _expected)


def _expected(failure: Any) -> None:
    """A BookKeeperError is allowed; any other exception is a defect of ours."""
    failure.trap(BookKeeperError)


def play(sizes: tuple[int, int, int], actions: list[tuple[str, int]]) -> History:
    """Let a writer and recoverers do ``actions`` with messages in that order; then deliver all messages."""
    cluster = Cluster([f"b{index}" for index in range(1, sizes[0] + 3)])
    writer = cluster.result(cluster.client().create_ledger(*sizes, password=b"secret"))
    history = History(cluster, writer, Quorum(*sizes))
    recoverers = [cluster.client(), cluster.client()]
    bookies, network = list(cluster.bookies.values()), cluster.network
    for action, number in actions:
        if action == "append":
            history.append()
        elif action == "recover":
            history.recover(recoverers[number % 2])
        elif action == "close":
            history.close()
        elif action == "toggle":
            bookie = bookies[number % len(bookies)]
            bookie.down = not bookie.down
        elif action == "fail":
            bookie = bookies[number % len(bookies)]
            bookie.fails = None if bookie.fails else FAILURES[number % len(FAILURES)]
        elif network.messages:
            getattr(network, action)(number % len(network.messages))
    network.run()
    return history


def check(history: History) -> None:
    """Bring every bookie back, open the ledger, and compare it with the results of the writer and the readers."""
    cluster, ledger_id = history.cluster, history.writer.ledger_id
    for bookie in cluster.bookies.values():
        bookie.down, bookie.fails = False, None
    reader = cluster.result(cluster.client().open_ledger(ledger_id, b"secret"))
    last = reader.last_add_confirmed
    # NoDivergenceBetweenClientAndMetaData, AllAckedEntriesAreReadable.
    assert max(history.acknowledged, default=-1) <= last, "acknowledged entries were cut off"
    assert history.writer.last_add_confirmed <= last
    assert all(each == last for each in history.closed_at)
    assert all(each.last_add_confirmed == last for each in history.readers), "recoveries closed in different places"
    # NoOutOfOrderEntries: every entry is the one appended in its place, and its length agrees.
    if last >= 0:
        assert cluster.result(reader.read(0, last)).payloads == history.payloads[: last + 1]
        assert cluster.result(reader.read(0, last, batch=False)).payloads == history.payloads[: last + 1]
    assert reader.length == sum(map(len, history.payloads[: last + 1]))
    # AllCommittedEntriesReachAckQuorum.
    for entry_id in range(last + 1):
        fragments = [each for each in reader.metadata.fragments if each.first_entry_id <= entry_id]
        ensemble = fragments[-1].ensemble
        write_set = {ensemble[index] for index in history.quorum.write_set(entry_id)}
        copies = len(write_set & cluster.holders(ledger_id, entry_id))
        assert copies >= history.quorum.ack_quorum_size, f"entry {entry_id} has {copies} copies"
    # NoReadPastSealedEnd, though bookies may have more.
    for start in range(last + 1):
        assert cluster.result(reader.read_batch(start)).last_entry_id <= last
    with pytest.raises(InvalidArgument):
        cluster.result(reader.read_entry(last + 1))
    # AddAfterFenceNeverAcked: the old writer gets no acknowledgement.
    before = set(history.acknowledged)
    history.append()
    cluster.network.run()
    assert set(history.acknowledged) == before


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(SIZES), ACTIONS)
def test_nothing_acknowledged_is_lost(sizes: tuple[int, int, int], actions: list[tuple[str, int]]) -> None:
    check(play(sizes, actions))


def schedule(seed: int) -> tuple[tuple[int, int, int], list[tuple[str, int]]]:
    """Return sizes and a long list of actions; seeds differ in the failures and in how far messages are reordered."""
    random = Random(seed)
    failures = [each for each in ("lose", "delay", "toggle", "recover", "close", "fail") if random.random() < 0.5]
    names = ["append"] * 4 + ["deliver"] * 24 + failures
    spread = random.choice((4, 1000))
    count = random.randrange(20, 300)
    return random.choice(SIZES), [(random.choice(names), random.randrange(spread)) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("first_seed", range(0, 1000, 250))
def test_nothing_acknowledged_is_lost_in_long_runs(first_seed: int) -> None:
    for seed in range(first_seed, first_seed + 250):
        try:
            check(play(*schedule(seed)))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


# The two known defects of the protocol as it once was: the same scenario with the rule and without -------------------


def fence_race(rules: RecoveryRules) -> tuple[LedgerWriter, Deferred[int], LedgerReader]:
    """BK#2614.  An entry reaches b2 before the fence, and b3 after the recovery read at b3."""
    cluster = Cluster(["b1", "b2", "b3"])
    network = cluster.network
    writer = cluster.result(cluster.client().create_ledger(3, 3, 2))
    appended = writer.append(b"precious")
    network.deliver(network.find("request b2 add"))
    network.deliver(network.find("reply b2 add"))
    to_b3 = network.messages.pop(network.find("request b3 add"))
    network.messages.pop(network.find("request b1 add"))
    recoverer = cluster.client()
    opened = Deferred.fromCoroutine(open_ledger(recoverer._context, writer.ledger_id, b"", None, rules))
    # Two of three bookies are fenced and cover the ledger; the fence of b3 hangs, and b2 is slow from then on.
    slow = ("b3 read 0/-1", "b2 read 0/0")
    while ready := [each for each in network.messages if not any(text in each.text for text in slow)]:
        network.deliver(network.messages.index(ready[0]))
    network.lose(network.find("b3 read 0/-1"))
    network.messages.append(to_b3)
    network.run()
    return writer, appended, cluster.result(opened)


def test_recovery_reads_fence() -> None:
    writer, appended, reader = fence_race(RULES)
    assert reader.closed
    assert reader.last_add_confirmed == -1
    appended.addErrback(lambda failure: failure.trap(LedgerFenced))
    assert appended.result is LedgerFenced
    assert writer.last_add_confirmed == -1


def test_without_fencing_recovery_reads_an_acknowledged_entry_is_lost() -> None:
    writer, appended, reader = fence_race(RecoveryRules(reads_fence=False))
    assert appended.result == 0
    assert writer.last_add_confirmed == 0
    assert reader.last_add_confirmed == -1, "the known defect is gone: is the switch still connected?"


def empty_last_fragment(rules: RecoveryRules) -> tuple[LedgerWriter, LedgerReader]:
    """BK#2615.  No bookie of the last ensemble knows the entries before its fragment."""
    cluster = Cluster(["b1", "b2", "b3", "b4"])
    writer = cluster.result(cluster.client().create_ledger(2, 2, 2))
    cluster.result(writer.append_many([b"one", b"two"]))
    for bookie_id in writer.metadata.last_fragment.ensemble:
        cluster.bookies[bookie_id].down = True
    writer.append(b"three")
    cluster.network.run(until=lambda: len(writer.metadata.fragments) == 2 and not writer._adds._changing)
    cluster.network.messages.clear()
    for bookie_id, bookie in cluster.bookies.items():
        bookie.down = False
        if bookie_id in writer.metadata.last_fragment.ensemble:
            bookie.ledgers.clear()
    assert cluster.metadata(writer.ledger_id).last_fragment.first_entry_id == 2
    opened = Deferred.fromCoroutine(open_ledger(cluster.client()._context, writer.ledger_id, b"", None, rules))
    return writer, cluster.result(opened)


def test_recovery_starts_no_lower_than_the_last_fragment() -> None:
    writer, reader = empty_last_fragment(RULES)
    assert writer.last_add_confirmed == reader.last_add_confirmed == 1
    assert reader.length == 6


def test_without_that_floor_acknowledged_entries_are_lost() -> None:
    writer, reader = empty_last_fragment(RecoveryRules(floor_at_last_fragment=False))
    assert writer.last_add_confirmed == 1
    assert reader.last_add_confirmed == -1, "the known defect is gone: is the switch still connected?"


def test_without_the_last_entry_before_the_floor_the_ledger_stays_in_recovery_and_the_error_says_what_to_do() -> None:
    cluster = Cluster(["b1", "b2", "b3", "b4"])
    writer = cluster.result(cluster.client().create_ledger(2, 2, 2))
    cluster.result(writer.append_many([b"one", b"two"]))
    first = writer.metadata.last_fragment.ensemble
    for bookie_id in first:
        cluster.bookies[bookie_id].down = True
    writer.append(b"three").addErrback(_expected)
    cluster.network.run(until=lambda: len(writer.metadata.fragments) == 2 and not writer._adds._changing)
    cluster.network.messages.clear()
    for bookie_id in writer.metadata.last_fragment.ensemble:
        cluster.bookies[bookie_id].ledgers.clear()
    with pytest.raises(BookieUnavailable, match=r"its last entry 1, .* again when one of the entry's bookies is back"):
        cluster.result(cluster.client().open_ledger(writer.ledger_id))
    assert cluster.metadata(writer.ledger_id).state is LedgerState.IN_RECOVERY
    cluster.bookies[first[0]].down = False
    reader = cluster.result(cluster.client().open_ledger(writer.ledger_id))
    assert (reader.last_add_confirmed, reader.length) == (1, 6)


# Absent entries ------------------------------------------------------------------------------------------------------


def abandoned(cluster: Cluster, entries: int = 3) -> int:
    """Return the id of a ledger with entries on three bookies and no writer any more."""
    writer = cluster.result(cluster.client().create_ledger(3, 3, 2, password=b"secret"))
    cluster.result(writer.append_many([b"entry %d" % index for index in range(entries)]))
    cluster.network.run()
    return int(writer.ledger_id)


@pytest.mark.parametrize("error", [StorageFailed(), UnknownLedgerState(), RequestTimedOut(), DigestMismatch()])
def test_errors_other_than_absence_leave_the_ledger_in_recovery(error: BookKeeperError) -> None:
    cluster = Cluster(["b1", "b2", "b3"])
    ledger_id = abandoned(cluster)
    cluster.bookies["b1"].fails = error
    holders = [cluster.bookies[each] for each in ("b2", "b3")]
    del holders[0].ledgers[ledger_id].entries[2]
    for bookie in holders[1:]:
        stored = bookie.ledgers[ledger_id].entries
        stored[2] = stored[2][:-1] + b"?"
    with pytest.raises(BookKeeperError, match=r"neither be read nor is it surely absent|too few bookies"):
        cluster.result(cluster.client().open_ledger(ledger_id, b"secret"))
    assert cluster.metadata(ledger_id).state is LedgerState.IN_RECOVERY
    cluster.bookies["b1"].fails = None
    assert cluster.result(cluster.client().open_ledger(ledger_id, b"secret")).last_add_confirmed == 2


@pytest.mark.parametrize("behind", [0, 1])
def test_recovery_begins_behind_the_highest_last_add_confirmed_of_those_asked(behind: int) -> None:
    """One of the two that answer first has few entries, and so a low last add confirmed."""
    cluster, writer, _ = tailed(entries=6)
    ledger_id = writer.ledger_id
    stored = cluster.bookies[writer.metadata.last_fragment.ensemble[behind]].ledgers[ledger_id].entries
    for entry_id in range(2, 6):
        del stored[entry_id]
    for bookie in cluster.bookies.values():
        bookie.requests.clear()
    assert cluster.result(cluster.client().open_ledger(ledger_id, b"pw")).last_add_confirmed == 5
    cluster.network.run()
    requests = [each for bookie in cluster.bookies.values() for each in bookie.requests]
    read = {each.partition(f"read {ledger_id}/")[2] for each in requests if " read " in each}
    assert read == {"-1 flags 1", "5 flags 5", "6 flags 5"}


def test_one_silent_bookie_does_not_hold_recovery_up() -> None:
    cluster = Cluster(["b1", "b2", "b3"])
    ledger_id = abandoned(cluster)
    opened = cluster.client().open_ledger(ledger_id, b"secret")
    network = cluster.network
    while any("b1" not in each.text for each in network.messages):
        network.deliver(next(index for index, each in enumerate(network.messages) if "b1" not in each.text))
    assert opened.result.last_add_confirmed == 2


def test_every_recovery_message_has_its_flags() -> None:
    cluster = Cluster(["b1", "b2", "b3"])
    ledger_id = abandoned(cluster)
    for bookie in cluster.bookies.values():
        bookie.requests.clear()
    cluster.result(cluster.client().open_ledger(ledger_id, b"secret"))
    requests = [each.partition(" ")[2] for bookie in cluster.bookies.values() for each in bookie.requests]
    reads = [each for each in requests if each.startswith("read")]
    assert {each for each in reads if "/-1" in each} == {f"read {ledger_id}/-1 flags 1"}
    assert {each[-7:] for each in reads if "/-1" not in each} == {"flags 5"}
    assert {each[-7:] for each in requests if each.startswith("add")} == {"flags 6"}


def test_write_back_changes_the_ensemble_only_when_the_ledger_is_closed() -> None:
    cluster = Cluster(["b1", "b2", "b3", "b4"])
    ledger_id = abandoned(cluster)
    ensemble = cluster.metadata(ledger_id).last_fragment.ensemble
    # The write set of entry 2 starts with this one.
    cluster.bookies[ensemble[2]].down = True
    reader = cluster.result(cluster.client().open_ledger(ledger_id, b"secret"))
    states = [(each.state, len(each.fragments)) for _, each in cluster.state.history]
    assert states == [(LedgerState.OPEN, 1), (LedgerState.IN_RECOVERY, 1), (LedgerState.CLOSED, 2)]
    assert reader.last_add_confirmed == 2
    assert ensemble[2] not in reader.metadata.last_fragment.ensemble


def test_wrong_password_and_digest_type_are_refused_before_anything_is_fenced() -> None:
    cluster = Cluster()
    ledger_id = abandoned(cluster)
    client = cluster.client()
    with pytest.raises(Unauthorized, match="wrong password"):
        cluster.result(client.open_ledger(ledger_id, b"guess"))
    with pytest.raises(DigestMismatch, match="CRC32C"):
        cluster.result(client.open_ledger(ledger_id, b"secret", DigestType.MAC))
    assert cluster.metadata(ledger_id).state is LedgerState.OPEN


def test_a_closed_ledger_is_opened_without_asking_a_bookie() -> None:
    cluster = Cluster()
    ledger_id = abandoned(cluster)
    cluster.result(cluster.client().open_ledger(ledger_id, b"secret"))
    for bookie in cluster.bookies.values():
        bookie.down = True
    assert cluster.result(cluster.client().open_ledger(ledger_id, b"secret")).length == 21


def test_an_attempt_that_was_given_up_changes_nothing_of_the_next_one() -> None:
    """Its add times out while the next attempt, on a ledger that was copied to another bookie, closes."""
    cluster = Cluster()
    network, state = cluster.network, cluster.state
    writer = cluster.result(cluster.client().create_ledger(3, 3, 2, password=b"secret"))
    ledger_id = writer.ledger_id
    x, y, z = writer.metadata.last_fragment.ensemble
    w = min(set(cluster.bookies) - {x, y, z})
    cluster.result(writer.append(b"on all"))
    network.run()
    writer.append(b"on z").addErrback(_expected)
    network.deliver(network.find(f"{z} add"))
    network.messages.clear()

    def deliver_all_but(*held: str) -> None:
        while ready := [each for each in network.messages if not any(text in each.text for text in held)]:
            network.deliver(network.messages.index(ready[0]))

    opened = cluster.client().open_ledger(ledger_id, b"secret")
    # The first attempt ends at entry 0, while z is slow.
    deliver_all_but(f"{z} add", f"{z} read", "request store write CLOSED")
    late_add = network.messages.pop(network.find(f"{z} add {ledger_id}/0"))
    late_read = network.messages.pop(network.find(f"{z} read {ledger_id}/1"))
    versioned = state.ledgers[ledger_id]
    cluster.bookies[w].ledgers[ledger_id] = deepcopy(cluster.bookies[y].ledgers[ledger_id])
    copied = evolve(versioned.metadata, fragments=(Fragment(0, (x, w, z)),))
    state.ledgers[ledger_id] = Versioned(copied, versioned.version + 1)
    network.deliver(network.find("request store write CLOSED"))
    # The second one finds entry 1 on z, and writes it to z and w, while x is slow.
    deliver_all_but(f"{x} add {ledger_id}/1", f"{w} add {ledger_id}/1")
    late_add.lost(RequestTimedOut())
    late_read.lost(RequestTimedOut())
    deliver_all_but(f"{x} add {ledger_id}/1")
    assert opened.result.last_add_confirmed == 1
    metadata = cluster.metadata(ledger_id)
    copies = cluster.holders(ledger_id, 1) & set(metadata.last_fragment.ensemble)
    assert len(copies) >= metadata.ack_quorum_size

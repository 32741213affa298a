"""Recovery: what the protocol promises, under any order, loss and delay of messages."""

from typing import Any

import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.client.open_ledger import open_ledger
from bookkeeper_tx.client.quorum import Quorum
from bookkeeper_tx.client.recovery import RULES, RecoveryRules
from bookkeeper_tx.errors import (
    BookKeeperError,
    DigestMismatch,
    InvalidArgument,
    LedgerClosed,
    LedgerFenced,
    RequestTimedOut,
    StorageFailed,
    Unauthorized,
    UnknownLedgerState,
)
from bookkeeper_tx.model import DigestType, Fragment, LedgerState
from tests.client.puppets import Cluster
from twisted.internet.defer import Deferred

SIZES = [(3, 3, 2), (3, 2, 2), (4, 3, 2), (2, 2, 1), (3, 3, 3), (5, 3, 2), (1, 1, 1)]

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
    """A writer, recoverers and what they were told."""

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
    """Failing clearly is allowed; a crash of ours is not."""
    failure.trap(BookKeeperError)


def play(sizes: tuple[int, int, int], actions: list[tuple[str, int]]) -> History:
    """Let a writer and recoverers do ``actions`` with messages in that order; then let everything arrive."""
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
            bookie.fails = None if bookie.fails else [StorageFailed(), UnknownLedgerState(), RequestTimedOut()][number % 3]
        elif network.messages:
            getattr(network, action)(number % len(network.messages))
    network.run()
    return history


def check(history: History) -> None:
    """Bring every bookie back, open the ledger, and hold it against what the writer and the readers were told."""
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
    # NoOutOfOrderEntries: every entry is what was appended in its place, and the length says so.
    if last >= 0:
        assert cluster.result(reader.read(0, last)).payloads == history.payloads[: last + 1]
        assert cluster.result(reader.read(0, last, batch=False)).payloads == history.payloads[: last + 1]
    assert reader.length == sum(map(len, history.payloads[: last + 1]))
    # AllCommittedEntriesReachAckQuorum.
    for entry_id in range(last + 1):
        ensemble = reader.metadata.fragment_of(entry_id).ensemble
        write_set = {ensemble[index] for index in history.quorum.write_set(entry_id)}
        copies = len(write_set & cluster.holders(ledger_id, entry_id))
        assert copies >= history.quorum.ack_quorum_size, f"entry {entry_id} has {copies} copies"
    # NoReadPastSealedEnd, though bookies may have more.
    for start in range(last + 1):
        assert cluster.result(reader.read_batch(start)).last_entry_id <= last
    with pytest.raises(InvalidArgument):
        cluster.result(reader.read_entry(last + 1))
    # AddAfterFenceNeverAcked: the old writer gets nowhere.
    before = set(history.acknowledged)
    history.append()
    cluster.network.run()
    assert set(history.acknowledged) == before


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(SIZES), ACTIONS)
def test_nothing_acknowledged_is_lost(sizes: tuple[int, int, int], actions: list[tuple[str, int]]) -> None:
    check(play(sizes, actions))

"""A tail under lost and reordered messages, bookies that fail and return, and changes of the ensemble."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import LedgerId
from protocol_specs.metadata.bookie import LEDGER_SCOPE_ID
from tests.client.puppets import Cluster
from tests.sampling import examples

STEPS = ("append", "append", "publish", "deliver", "deliver", "deliver", "deliver", "lose", "second", "down", "up")


class Follower:
    """Follows a ledger to its end; after an error it continues at the same entry."""

    def __init__(self, reader: LedgerReader) -> None:
        self._reader = reader
        self.found: list[bytes] = []
        self.ended = False
        self.failures = 0
        self.following = Deferred.fromCoroutine(self._follow())
        self.following.addErrback(lambda failure: failure.trap(CancelledError))

    async def _follow(self) -> None:
        while not self.ended:
            try:
                async for entry in self._reader.tail(len(self.found)):
                    assert entry.entry_id == len(self.found)
                    assert entry.entry_id <= self._reader.last_add_confirmed
                    self.found.append(entry.payload)
                self.ended = True
            except BookKeeperError:
                self.failures += 1
                again: Deferred[None] = Deferred()
                self._reader.context.clock.callLater(1.0, again.callback, None)
                await again


def step(cluster: Cluster, writer: LedgerWriter, name: str, choice: int, acknowledged: dict[int, bytes]) -> None:
    messages = cluster.network.messages
    bookies = sorted(cluster.bookies)
    if name == "append":
        payload = b"payload %d" % choice
        writer.append(payload).addCallbacks(lambda number: acknowledged.__setitem__(number, payload), _known)
    elif name == "publish":
        writer.write_last_add_confirmed().addErrback(_known)
    elif name == "deliver" and messages:
        cluster.network.deliver(choice % min(3, len(messages)))
    elif name == "lose" and messages:
        cluster.network.lose(choice % len(messages))
    elif name == "second":
        cluster.clock.advance(0.5)
    elif name == "down" and not any(bookie.down for bookie in cluster.bookies.values()):
        cluster.bookies[bookies[choice % len(bookies)]].down = True
    elif name == "up":
        for bookie in cluster.bookies.values():
            bookie.down = False


def _known(failure: Any) -> None:
    failure.trap(BookKeeperError)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 50)), max_size=80),
    st.sampled_from([(1, 1, 1), (3, 3, 2), (3, 2, 2), (4, 2, 1)]),
    st.sampled_from(["waits", "at once", "closes"]),
    st.booleans(),
)
def test_a_tail_finds_what_was_acknowledged_and_nothing_else(
    steps: list[tuple[str, int]], sizes: tuple[int, int, int], polls: str, scoped: bool
) -> None:
    cluster = Cluster()
    for bookie in cluster.bookies.values():
        bookie.polls, bookie.extensions = polls, frozenset({LEDGER_SCOPE_ID})
    config = ClientConfig(protocol="v3" if scoped else "v2")
    ledger_id = LedgerId(0, 9) if scoped else 0
    writer = cluster.result(cluster.client(config).create_ledger(*sizes, ledger_id=ledger_id))
    follower = Follower(cluster.result(cluster.client(config).open_ledger_no_recovery(ledger_id)))
    acknowledged: dict[int, bytes] = {}
    for name, choice in steps:
        step(cluster, writer, name, choice, acknowledged)
    for bookie in cluster.bookies.values():
        bookie.down = False
    # Recovery closes the ledger in any case, even if the writer has failed.
    cluster.network.run()
    closed = cluster.result(cluster.client(config).open_ledger(ledger_id))
    for _ in range(300):
        if follower.ended:
            break
        cluster.clock.advance(0.5)
        cluster.network.run()
    assert follower.ended
    assert len(follower.found) == closed.last_add_confirmed + 1
    assert all(follower.found[number] == payload for number, payload in acknowledged.items())
    assert (
        follower.found == [each.payload for each in cluster.result(closed.read(0, closed.last_add_confirmed))]
        if (follower.found)
        else closed.last_add_confirmed == -1
    )
    assert cluster.clock.getDelayedCalls() == []

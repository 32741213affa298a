"""A writer with deferred sync, on bookies that lose entries not forced when they are killed."""

from typing import Any

import pytest
from attrs import define, field
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError
from protocol_specs.wire.operations import Flag
from tests.client.puppet_bookie import PuppetBookie
from tests.client.puppets import Cluster
from tests.sampling import examples

STEPS = ("append", "append", "force", "deliver", "settle", "settle", "settle", "kill", "kill all", "publish", "close")

V3 = ClientConfig(protocol="v3")


@define
class ForgetfulBookie(PuppetBookie):
    """A bookie that has forced entries on its disk, and other entries in memory."""

    unforced: set[int] = field(factory=set)

    def add(self, ledger_id: int, entry_id: int, entry: bytes, key: bytes, flags: int) -> None:
        super().add(ledger_id, entry_id, entry, key, flags)
        if flags & Flag.RECOVERY_ADD:
            self.unforced.discard(entry_id)
        else:
            self.unforced.add(entry_id)

    def force(self, ledger_id: int) -> None:
        self.unforced.clear()

    def restart(self) -> None:
        self.interruptions += 1
        for ledger in self.ledgers.values():
            for entry_id in self.unforced:
                ledger.entries.pop(entry_id, None)
        self.unforced.clear()


def kill(cluster: Cluster, bookie_id: str) -> None:
    """Kill a bookie and start it again: messages under way to and from it are lost with the connection."""
    messages = cluster.network.messages
    under_way = [each for each in messages if each.bookie_id == bookie_id]
    messages[:] = [each for each in messages if each.bookie_id != bookie_id]
    cluster.bookies[bookie_id].restart()
    for each in under_way:
        each.lost(BookieUnavailable("killed"))


def step(cluster: Cluster, writer: LedgerWriter, name: str, choice: int) -> None:
    messages = cluster.network.messages
    if name == "append":
        writer.append(b"payload %d" % choice).addErrback(_known)
    elif name == "force":
        writer.force().addErrback(_known)
    elif name == "publish":
        writer.write_last_add_confirmed().addErrback(_known)
    elif name == "close" and not choice % 5:
        writer.close().addErrback(_known)
    elif name == "kill":
        ensemble = writer.metadata.last_fragment.ensemble
        kill(cluster, ensemble[choice % len(ensemble)])
    elif name == "kill all":
        for bookie_id in cluster.bookies:
            kill(cluster, bookie_id)
    elif name == "settle":
        cluster.network.run()
    elif name == "deliver" and messages:
        # In order on each connection.
        owners = sorted({each.bookie_id or "" for each in messages})
        owner = owners[choice % len(owners)]
        cluster.network.deliver(next(index for index, each in enumerate(messages) if (each.bookie_id or "") == owner))


def _known(failure: Any) -> None:
    failure.trap(BookKeeperError)


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 50)), min_size=5, max_size=80),
    st.sampled_from([(1, 1, 1), (2, 2, 1), (3, 3, 2), (3, 2, 2), (4, 2, 1)]),
)
def test_what_was_confirmed_is_there_whoever_was_killed(
    steps: list[tuple[str, int]], sizes: tuple[int, int, int]
) -> None:
    cluster = Cluster()
    cluster.bookies = {each: ForgetfulBookie(each) for each in cluster.bookies}
    writer = cluster.result(cluster.client(V3).create_ledger(*sizes, deferred_sync=True))
    for name, choice in steps:
        step(cluster, writer, name, choice)
    confirmed, length = writer.last_add_confirmed, writer.length
    cluster.network.messages.clear()
    for bookie_id in cluster.bookies:
        kill(cluster, bookie_id)
    reader = cluster.result(cluster.client(V3).open_ledger(writer.ledger_id))
    assert reader.last_add_confirmed >= confirmed
    if confirmed >= 0:
        assert cluster.result(reader.read(0, confirmed))[-1].length == length

"""Appends of given ids against a model: any order, duplicates, gaps, bookies that fail, messages in any order."""

from typing import Any

from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.ledger_writer_adv import LedgerWriterAdv
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookKeeperError, DuplicateEntryId, LedgerClosed, TooManyOutstandingAdds
from bookkeeper_tx.model import LedgerState
from tests.client.puppets import Cluster
from tests.sampling import examples

APPENDS_MAX = 6
"""So many may be on their way."""

STEPS = ("append", "append", "append", "fill the gap", "deliver", "deliver", "settle", "lose", "force")


@define
class Model:
    """What was given, and what became of it."""

    payloads: dict[int, bytes] = field(factory=dict)
    """The entries that were taken."""
    acknowledged: list[int] = field(factory=list)
    failed: dict[int, type[BookKeeperError]] = field(factory=dict)
    lost: bool = False
    """Whether a message was lost, so that the writer may have failed."""

    @property
    def gap(self) -> int:
        return next(each for each in range(len(self.payloads) + 1) if each not in self.payloads)

    @property
    def under_way(self) -> int:
        return len(self.payloads) - len(self.acknowledged) - len(self.failed)

    def append(self, writer: LedgerWriterAdv, entry_id: int, payload: bytes) -> None:
        """Append, and see that it is taken or refused as it must be."""
        next_id = len(self.acknowledged)
        before = dict(self.payloads)
        refused: list[Any] = []
        appended = writer.append(entry_id, payload)
        if not appended.called:
            self.payloads[entry_id] = payload
            self._watch(entry_id, appended)
            assert entry_id not in before
            assert self.under_way <= APPENDS_MAX or entry_id == next_id
            return
        appended.addErrback(lambda failure: refused.append(failure.type))
        if not self.lost:
            full = self.under_way >= APPENDS_MAX and entry_id != next_id
            assert refused == [DuplicateEntryId if entry_id in before else TooManyOutstandingAdds]
            assert entry_id in before or full

    def _watch(self, entry_id: int, appended: "Deferred[int]") -> None:
        def acknowledged(result: int) -> None:
            assert result == entry_id == len(self.acknowledged), "the ids are acknowledged in their order"
            self.acknowledged.append(entry_id)

        def failed(failure: Any) -> None:
            self.failed[entry_id] = failure.type

        appended.addCallbacks(acknowledged, failed)


def step(cluster: Cluster, writer: LedgerWriterAdv, model: Model, name: str, choice: int) -> None:
    messages = cluster.network.messages
    if name == "append":
        model.append(writer, choice % 12, b"%d" % choice)
    elif name == "fill the gap":
        model.append(writer, model.gap, b"gap %d" % choice)
    elif name == "force":
        writer.force().addErrback(lambda failure: failure.trap(BookKeeperError) and None)
    elif name == "settle":
        cluster.network.run()
    elif messages and name == "deliver":
        cluster.network.deliver(choice % len(messages))
    elif messages and " add " in messages[choice % len(messages)].text:
        model.lost = True
        cluster.network.lose(choice % len(messages))


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 60)), max_size=60),
    st.sampled_from([(1, 1, 1), (2, 2, 1), (3, 3, 2), (3, 2, 2), (4, 2, 1), (3, 3, 3)]),
    st.booleans(),
    st.booleans(),
)
def test_what_is_acknowledged_is_a_prefix_and_the_ledger_ends_at_the_first_gap(
    steps: list[tuple[str, int]], sizes: tuple[int, int, int], deferred_sync: bool, recovered: bool
) -> None:
    config = ClientConfig(outstanding_adds_max=APPENDS_MAX, protocol="v3")
    cluster, model = Cluster(), Model()
    writer = cluster.result(cluster.client(config).create_ledger_adv(*sizes, deferred_sync=deferred_sync))
    for name, choice in steps:
        step(cluster, writer, model, name, choice)
        confirmed = writer.last_add_confirmed
        assert confirmed < model.gap
        assert writer.length == sum(len(model.payloads[each]) for each in range(confirmed + 1))
        assert deferred_sync or confirmed == len(model.acknowledged) - 1
    if not recovered:
        writer.close().addErrback(lambda failure: failure.trap(BookKeeperError) and None)
    cluster.network.run()

    reader = cluster.result(cluster.client(config).open_ledger(writer.ledger_id))
    last = reader.last_add_confirmed
    assert writer.last_add_confirmed <= last < model.gap
    if not model.lost:
        assert (last, len(model.acknowledged)) == (model.gap - 1, model.gap)
    if not recovered and not model.lost:
        assert set(model.failed.values()) <= {LedgerClosed}
        assert model.acknowledged + sorted(model.failed) == sorted(model.payloads)
    assert reader.metadata.state is LedgerState.CLOSED
    if last >= 0:
        assert cluster.result(reader.read(0, last)).payloads == [model.payloads[each] for each in range(last + 1)]

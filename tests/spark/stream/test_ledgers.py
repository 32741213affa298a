from typing import Any

import pytest

from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLedger
from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.spark.options.id_ranges import IdRanges
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.sink.manifest import EpochKey, PublishedLedger, publish
from bookkeeper_tx.spark.stream.ledgers import StreamLedgers, View, clipped
from bookkeeper_tx.spark.stream.offsets import StreamOffset
from bookkeeper_tx.spark.stream.planning import LedgerEnd, plan_end
from tests.spark.memory_store import MemoryStore

START = StreamOffset()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def ledgers_of(store: MemoryStore, **values: str) -> StreamLedgers:
    options = Options.from_spark({"metadataServiceUri": "sqlite:///m", **values}, Use.STREAM)
    return StreamLedgers(options, lambda _: None, store.ends_of_open)


def ids(view: View) -> list[int]:
    return [each.ledger_id for each in view.ledgers]


def test_ledgers_come_by_id_with_their_ends(store: MemoryStore) -> None:
    store.add(7, end=5)
    store.add(3, end=4, closed=True, length=41)
    view = ledgers_of(store, ledgers="0-").look(store, START)
    assert view.ledgers == (LedgerEnd(3, 4, True, 11), LedgerEnd(7, 5, False))


def test_what_cannot_change_is_asked_for_once(store: MemoryStore) -> None:
    store.add(1, end=4, closed=True)
    store.add(2, end=4)
    watched = ledgers_of(store, ledgers="0-")
    watched.look(store, START)
    store.read.clear()
    store.add(2, end=6)
    store.add(3, end=1)
    assert [each.end for each in watched.look(store, START).ledgers] == [4, 6, 1]
    assert store.read == [2, 3]


def test_what_is_finished_is_not_asked_for(store: MemoryStore) -> None:
    store.add(1, end=4, closed=True)
    store.add(2, end=4)
    assert ids(ledgers_of(store, ledgers="1,2").look(store, StreamOffset(IdRanges.of([1])))) == [2]
    assert store.read == [2]
    assert ids(ledgers_of(store, ledgers="0-").look(store, StreamOffset(closed={1: 4}, open={2: 1}))) == [2]


def test_ledgers_with_custom_metadata(store: MemoryStore) -> None:
    store.add(1, end=4, app="a")
    store.add(2, end=4, app="b")
    watched = ledgers_of(store, **{"ledgerMetadata.app": "a"})
    view = watched.look(store, START)
    assert ids(view) == [1]
    assert view.passed == IdRanges.of([2])
    store.add(0, end=1, app="a")
    store.read.clear()
    assert ids(watched.look(store, START)) == [0, 1]
    assert 2 not in store.read


def test_a_ledger_begun_is_read_on_whatever_the_options_say_now(store: MemoryStore) -> None:
    store.add(1, end=4, app="a")
    store.add(2, end=4, app="b")
    watched = ledgers_of(store, **{"ledgerMetadata.app": "a"})
    view = watched.look(store, StreamOffset(open={2: 1}))
    assert ids(view) == [1, 2]
    assert not view.passed


def test_closed_ledgers_only(store: MemoryStore) -> None:
    store.add(1, end=4)
    store.add(2, end=4, closed=True)
    watched = ledgers_of(store, ledgers="0-", readMode="closed")
    assert ids(watched.look(store, START)) == [2]
    store.add(1, end=4, closed=True)
    assert ids(watched.look(store, START)) == [1, 2]


def test_a_range_is_what_there_is_of_it(store: MemoryStore) -> None:
    watched = ledgers_of(store, ledgers="5-7")
    assert ids(watched.look(store, START)) == []
    for each in (4, 6, 8):
        store.add(each, end=1)
    assert ids(watched.look(store, START)) == [6]


def test_a_scope(store: MemoryStore) -> None:
    store.add(1, end=1)
    store.add(LedgerId(1, 5), end=1)
    assert ids(ledgers_of(store, ledgers="0-", scope="5").look(store, START)) == [LedgerId(1, 5)]
    assert ids(ledgers_of(store, ledger="1", scope="5").look(store, START)) == [LedgerId(1, 5)]


def test_a_named_ledger_that_is_not_there(store: MemoryStore) -> None:
    store.add(6, end=1)
    with pytest.raises(NoSuchLedger, match=r"ledger 5.*failOnDataLoss"):
        ledgers_of(store, ledgers="5,6").look(store, START)
    lenient = ledgers_of(store, ledgers="5,6", failOnDataLoss="false")
    assert ids(lenient.look(store, START)) == [6]
    store.add(5, end=2)
    assert ids(lenient.look(store, START)) == [5, 6]


def test_a_ledger_that_goes_before_it_is_read_to_its_end(store: MemoryStore, caplog: Any) -> None:
    store.add(5, end=9)
    begun = StreamOffset(open={5: 3})
    strict, lenient = (ledgers_of(store, ledgers="0-", failOnDataLoss=each) for each in ("true", "false"))
    strict.look(store, begun)
    del store.ledgers[5]
    with pytest.raises(NoSuchLedger, match="did not read it to its end"):
        strict.look(store, begun)
    for _ in range(3):
        assert lenient.look(store, begun).ledgers == (LedgerEnd(5, 3, True),)
    assert len(caplog.records) == 1
    end = plan_end(begun, lenient.look(store, begun).ledgers)
    assert end.closed == {5: 3}
    assert lenient.look(store, end).ledgers == ()


def test_a_ledger_that_goes_before_it_is_begun(store: MemoryStore) -> None:
    store.add(5, end=9)
    store.add(6, end=0)
    watched = ledgers_of(store, ledgers="0-")
    watched.look(store, START)
    del store.ledgers[6]
    assert ids(watched.look(store, START)) == [5]  # nothing was in it
    del store.ledgers[5]
    with pytest.raises(NoSuchLedger, match="ledger 5"):
        watched.look(store, START)


def test_a_ledger_that_goes_once_it_is_read(store: MemoryStore) -> None:
    store.add(5, end=9, closed=True)
    watched = ledgers_of(store, ledgers="0-")
    end = plan_end(START, watched.look(store, START).ledgers)
    del store.ledgers[5]
    assert watched.look(store, end).ledgers == ()
    assert ledgers_of(store, ledgers="5").look(store, end).ledgers == ()


def test_metadata_that_make_no_sense(store: MemoryStore) -> None:
    store.ledgers[5] = MetadataCorrupt("junk")
    store.add(6, end=1)
    with pytest.raises(MetadataCorrupt, match="ledger 5: junk"):
        ledgers_of(store, ledgers="0-").look(store, START)
    lenient = ledgers_of(store, ledgers="0-", failOnDataLoss="false")
    assert ids(lenient.look(store, StreamOffset(open={5: 1}))) == [6]
    store.add(5, end=2)
    assert ids(lenient.look(store, StreamOffset(open={5: 1}))) == [5, 6]


def test_a_manifest_is_read_epoch_by_epoch(store: MemoryStore) -> None:
    watched = ledgers_of(store, manifest="s")
    assert watched.look(store, START) == View()
    for each in (4, 8, 9):
        store.add(each, end=2, closed=True)
    publish(store, "s", EpochKey("q", 0), [PublishedLedger(9, 1, 0)])  # type: ignore[arg-type]
    first = plan_end(START, watched.look(store, START).ledgers)
    assert first.closed == {9: 2}
    publish(store, "s", EpochKey("q", 1), [PublishedLedger(8, 1, 0), PublishedLedger(4, 1, 0)])  # type: ignore[arg-type]
    assert ids(watched.look(store, START)) == [9, 8, 4]
    assert ids(watched.look(store, first)) == [8, 4]
    assert plan_end(first, watched.look(store, first).ledgers).closed == {4: 2, 8: 2}


def test_an_epoch_is_read_once(store: MemoryStore) -> None:
    watched = ledgers_of(store, manifest="s")
    for epoch in range(3):
        store.add(epoch, end=2, closed=True)
        publish(store, "s", EpochKey("q", epoch), [PublishedLedger(epoch, 1, 0)])  # type: ignore[arg-type]
        assert len(ids(watched.look(store, START))) == epoch + 1
    assert store.documents_read == 3


def test_clipping_leaves_out_what_came_later() -> None:
    target = View((LedgerEnd(1, 5, False), LedgerEnd(2, 5, False), LedgerEnd(3, 5, True)), IdRanges.of([9]))
    later = View(
        (LedgerEnd(1, 8, True), LedgerEnd(2, 5, True), LedgerEnd(3, 5, True), LedgerEnd(4, 5, True)), IdRanges.of([7])
    )
    assert clipped(later, target, START) == View(
        (LedgerEnd(1, 5, False), LedgerEnd(2, 5, True), LedgerEnd(3, 5, True)), IdRanges.of([9])
    )


def test_clipping_keeps_what_is_gone() -> None:
    gone = LedgerEnd(4, 3, True)
    assert clipped(View((gone,)), View(), StreamOffset(open={4: 3})) == View((gone,))
    assert clipped(View((LedgerEnd(4, 5, False),)), View(), StreamOffset(open={4: 3})) == View()

"""The manifest: an epoch is decided once, and a second writer cannot change it."""

import json

import pytest

from bookkeeper_tx.errors import InvalidArgument, MetadataCorrupt, MetadataUnavailable
from bookkeeper_tx.metadata.documents import DOCUMENT_SIZE_MAX
from bookkeeper_tx.spark.sink.manifest import (
    EpochAbandoned,
    EpochKey,
    PublishedLedger,
    abandon,
    check_sink_id,
    publish,
    published,
    read_manifest,
)
from tests.spark.writing.memory_store import MemoryStore

KEY = EpochKey("query", 7)


def ledgers(*ledger_ids):
    return tuple(PublishedLedger(ledger_id, 9, 1000) for ledger_id in ledger_ids)


@pytest.fixture
def store():
    return MemoryStore()


def test_what_is_published_is_read_in_order(store):
    assert published(store, "sink", KEY) is None
    assert publish(store, "sink", KEY, ledgers(5, 3)) == ledgers(5, 3)
    assert published(store, "sink", KEY) == ledgers(5, 3)
    assert read_manifest(store, "sink") == [(KEY, ledgers(5, 3))]
    assert read_manifest(store, "other") == []


def test_a_repeated_epoch_keeps_the_first(store):
    publish(store, "sink", KEY, ledgers(1, 2))
    assert publish(store, "sink", KEY, ledgers(3, 4)) == ledgers(1, 2)
    assert read_manifest(store, "sink") == [(KEY, ledgers(1, 2))]


def test_a_publication_whose_answer_was_lost_is_found_to_be_made(store):
    def lose(request):
        raise MetadataUnavailable

    store.after = lose
    with pytest.raises(MetadataUnavailable):
        publish(store, "sink", KEY, ledgers(1))
    store.after = lambda request: None
    assert publish(store, "sink", KEY, ledgers(1)) == ledgers(1)
    assert len(store.documents) == 1


def test_epochs_are_read_by_number_and_queries_by_their_first_publication(store):
    for query, epochs in (("later-in-the-alphabet", (2, 10, 1, 3000)), ("earlier", (5, 0))):
        for epoch in epochs:
            publish(store, "sink", EpochKey(query, epoch), ledgers(epoch))
    documents = {path: json.loads(data) for path, data in store.documents.items()}
    for path, document in documents.items():
        document["published_ms"] = 1 if path[1] == "later-in-the-alphabet" else 2
        store.documents[path] = json.dumps(document).encode()
    found = [(key.query_id, key.epoch) for key, _ in read_manifest(store, "sink")]
    assert found == [*(("later-in-the-alphabet", epoch) for epoch in (1, 2, 10, 3000)), ("earlier", 0), ("earlier", 5)]


def test_more_ledgers_can_be_given_up_than_fit_into_one_document(store):
    many = set(range(10**9, 10**9 + 100_000))
    assert abandon(store, "sink", KEY, many) == many
    assert max(map(len, store.documents.values())) <= DOCUMENT_SIZE_MAX
    assert abandon(store, "sink", KEY, many) == many
    documents = len(store.documents)
    for each in (min(many), max(many)):
        with pytest.raises(EpochAbandoned):
            publish(store, "sink", KEY, ledgers(each))
    assert publish(store, "sink", KEY, ledgers(5)) == ledgers(5)
    assert len(store.documents) == documents + 1
    assert abandon(store, "sink", KEY, {5, *many}) == many


def test_a_node_has_a_thousand_epochs_at_most(store):
    for epoch in (999, 1000, 1_700_000_000_123):
        publish(store, "sink", EpochKey("query", epoch), ())
    assert store.list_documents(("sink", "query")) == ["0", "1", "1700000000"]


def test_ledgers_of_an_epoch_that_was_given_up_cannot_be_published(store):
    assert abandon(store, "sink", KEY, {1, 2}) == {1, 2}
    with pytest.raises(EpochAbandoned, match=r"epoch 7 of query: ledgers \[2\]"):
        publish(store, "sink", KEY, ledgers(2, 3))
    assert published(store, "sink", KEY) is None
    assert read_manifest(store, "sink") == []


def test_an_epoch_that_was_given_up_can_be_written_again(store):
    abandon(store, "sink", KEY, {1})
    assert publish(store, "sink", KEY, ledgers(2)) == ledgers(2)
    assert publish(store, "sink", KEY, ledgers(3)) == ledgers(2)
    assert published(store, "sink", KEY) == ledgers(2)
    assert read_manifest(store, "sink") == [(KEY, ledgers(2))]
    with pytest.raises(EpochAbandoned):
        publish(store, "sink", KEY, ledgers(1))


def test_published_ledgers_may_not_be_deleted(store):
    publish(store, "sink", KEY, ledgers(1, 2))
    assert abandon(store, "sink", KEY, {2, 3}) == {3}
    assert published(store, "sink", KEY) == ledgers(1, 2)


def test_giving_up_again_makes_no_other_document(store):
    abandon(store, "sink", KEY, {1, 2})
    assert abandon(store, "sink", KEY, {2}) == {2}
    assert len(store.documents) == 1
    assert abandon(store, "sink", KEY, {2, 3}) == {2, 3}
    assert len(store.documents) == 2


@pytest.mark.parametrize("other", ["publishes", "gives up", "gives up others"])
def test_giving_up_while_another_decides(store, other):
    """The other writer creates its document after our read and before our document."""

    def before(request):
        if request == "create_document":
            store.before = lambda request: None
            if other == "publishes":
                publish(store, "sink", KEY, ledgers(1))
            else:
                abandon(store, "sink", KEY, {1} if other == "gives up" else {9})

    store.before = before
    assert abandon(store, "sink", KEY, {1, 2}) == ({2} if other == "publishes" else {1, 2})
    if other != "publishes":
        with pytest.raises(EpochAbandoned):
            publish(store, "sink", KEY, ledgers(2))


def test_a_manifest_that_is_too_large_says_what_to_do(store):
    many = [PublishedLedger(10**15 + index, 10**9, 10**12) for index in range(30_000)]
    with pytest.raises(InvalidArgument, match="coalesce"):
        publish(store, "sink", KEY, many)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"v":1}', b'{"v":2,"ledgers":[]}', b'{"v":1,"published_ms":1,"ledgers":[[1]]}']
)
def test_a_document_that_is_none_of_ours_is_named(store, data):
    store.documents["sink", "query", "0", "7"] = data
    with pytest.raises(MetadataCorrupt, match="sink/query/0/7"):
        read_manifest(store, "sink")


@pytest.mark.parametrize("sink_id", ["", "  ", "x" * 201])
def test_a_sink_has_a_name(sink_id):
    with pytest.raises(InvalidArgument, match="sinkId"):
        check_sink_id(sink_id)

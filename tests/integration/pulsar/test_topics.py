"""Pulsar's topics on bookies of ours: sent, consumed, read again, rolled over, compacted, deleted."""

import json

import pytest

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.model import DigestType, LedgerState
from tests.integration.pulsar.site import ENTRIES_PER_LEDGER, WAIT_S, Site, wait_until

pytestmark = [pytest.mark.java, pytest.mark.full]

COUNT = 4 * ENTRIES_PER_LEDGER + 20
COPIES = 2

LARGEST_MESSAGE = 5 * 1024 * 1024 - 64
"""Pulsar's ``maxMessageSize`` without what the client adds; its entry fills a frame of more than 5 MiB."""


def numbered(count: int, text: str = "message") -> list[bytes]:
    return [f"{text} {number}".encode() for number in range(count)]


def test_what_is_sent_is_consumed_in_order(site: Site) -> None:
    topic = site.new_topic()
    consumer = site.subscribe(topic, "orders")
    site.send(topic, numbered(COUNT))
    received = []
    for _ in range(COUNT):
        message = consumer.receive(WAIT_S * 1000)
        received.append(message.data())
        consumer.acknowledge(message)
    consumer.close()
    assert received == numbered(COUNT)


def test_a_full_ledger_is_closed_and_another_begun(site: Site) -> None:
    topic = site.new_topic()
    consumer = site.subscribe(topic, "keeps the ledgers")
    site.send(topic, numbered(COUNT))
    *full, last = site.admin.ledger_ids(topic)
    assert len(full) == 4
    for ledger_id in full:
        metadata = site.ledger_metadata(ledger_id)
        assert (metadata.state, metadata.last_entry_id) == (LedgerState.CLOSED, ENTRIES_PER_LEDGER - 1)
        assert len(site.bookies_of(ledger_id)) == metadata.write_quorum_size == metadata.ack_quorum_size == 2
    assert site.ledger_metadata(last).state is LedgerState.OPEN
    consumer.close()


def test_a_reader_from_the_earliest_message_is_served_by_the_bookies(site: Site) -> None:
    """After the topic was unloaded no entry of it is in the memory of the broker."""
    topic = site.new_topic()
    consumer = site.subscribe(topic, "keeps the ledgers")
    consumer.close()
    site.send(topic, numbered(COUNT))
    site.unload(topic)
    assert site.read(topic, COUNT) == numbered(COUNT)


def test_our_client_reads_the_ledgers_of_a_topic(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    site.send(topic, numbered(ENTRIES_PER_LEDGER + 1))
    ledger_id = site.admin.ledger_ids(topic)[0]
    with (
        BookKeeper(site.bookies.metadata_uri) as bk,
        bk.open_ledger(ledger_id, password=b"", digest_type=DigestType.CRC32C) as reader,
    ):
        entries = [entry.payload for entry in reader]
    assert len(entries) == ENTRIES_PER_LEDGER
    assert all(entry.endswith(payload) for entry, payload in zip(entries, numbered(ENTRIES_PER_LEDGER), strict=True))


def test_batches_and_the_largest_message(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    batching = site.producer(topic, batching_enabled=True, batching_max_messages=100)
    sent = [batching.send_async(payload, None) for payload in numbered(1000)]
    assert len(sent) == 1000
    batching.flush()
    batching.close()
    largest = b"x" * LARGEST_MESSAGE
    site.send(topic, [largest])
    assert site.admin.get(f"{topic}/internalStats")["numberOfEntries"] < 1001
    site.unload(topic)
    assert site.read(topic, 1001) == [*numbered(1000), largest]


def test_the_ledgers_of_a_deleted_topic_are_deleted(site: Site) -> None:
    topic = site.new_topic()
    consumer = site.subscribe(topic, "is deleted, too")
    site.send(topic, numbered(COUNT))
    for _ in range(COUNT):  # every second one: that is kept in a ledger of the cursor
        message = consumer.receive(WAIT_S * 1000)
        if message.data()[-1] % 2:
            consumer.acknowledge(message)
    consumer.close()
    ledger_ids = site.admin.ledger_ids(topic)
    assert set(ledger_ids) <= site.known_ledgers()
    site.admin.delete(f"{topic}?force=true")
    wait_until(lambda: not site.known_ledgers() & set(ledger_ids), "the metadata of a deleted topic is gone")
    with pytest.raises(NoSuchLedger):
        site.ledger_metadata(ledger_ids[0])


def test_the_disk_of_a_deleted_topic_comes_back(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    before = site.entry_log_bytes()
    site.send(topic, [b"x" * 100_000] * COUNT)
    wait_until(lambda: site.entry_log_bytes() - before > COPIES * COUNT * 100_000, "the entries are in entry logs")
    site.admin.delete(f"{topic}?force=true")
    # The last log of a bookie has ledgers of other topics, too, and is still being written.
    wait_until(lambda: site.entry_log_bytes() - before < COPIES * COUNT * 10_000, "the disk has come back")


def test_what_has_been_consumed_is_trimmed(site: Site) -> None:
    topic = site.new_topic()
    consumer = site.subscribe(topic, "consumes")
    site.send(topic, numbered(COUNT))
    *consumed, last = site.admin.ledger_ids(topic)
    messages = [consumer.receive(WAIT_S * 1000) for _ in range(COUNT)]
    consumer.acknowledge_cumulative(messages[-1])
    consumer.close()

    def trimmed() -> bool:
        site.admin.post(f"{topic}/trim")
        return not site.known_ledgers() & set(consumed)

    wait_until(trimmed, "the ledgers that have been consumed are deleted")
    assert last in site.known_ledgers()


def test_a_truncated_topic_keeps_its_last_ledger_only(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "has consumed nothing").close()
    site.send(topic, numbered(COUNT))
    *full, last = site.admin.ledger_ids(topic)
    site.admin.delete(f"{topic}/truncate")
    wait_until(lambda: not site.known_ledgers() & set(full), "the ledgers of a truncated topic are deleted")
    assert last in site.known_ledgers()
    assert site.read(topic, 1) == [numbered(COUNT)[len(full) * ENTRIES_PER_LEDGER]]


def test_a_terminated_topic_has_closed_its_ledger(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    site.send(topic, numbered(10))
    ledger_id = site.admin.ledger_ids(topic)[-1]
    site.admin.post(f"{topic}/terminate")
    metadata = site.ledger_metadata(ledger_id)
    assert (metadata.state, metadata.last_entry_id) == (LedgerState.CLOSED, 9)


def test_a_compacted_topic_is_read_from_the_ledger_of_its_compaction(site: Site) -> None:
    topic = site.new_topic()
    producer = site.producer(topic)
    for number in range(100):
        producer.send(f"{number}".encode(), partition_key=f"key {number % 10}")
    producer.close()
    site.admin.put(f"{topic}/compaction")
    wait_until(lambda: site.admin.get(f"{topic}/compaction")["status"] == "SUCCESS", "the compaction has ended")
    compacted = site.admin.get(f"{topic}/internalStats")["compactedLedger"]
    assert compacted["entries"] == 10
    assert compacted["ledgerId"] in site.known_ledgers()
    site.unload(topic)
    assert site.read(topic, 10, compacted=True) == [f"{number}".encode() for number in range(90, 100)]


def test_a_schema_is_kept_in_a_ledger(site: Site) -> None:
    topic = site.new_topic()
    fields = [{"name": "id", "type": "long"}]
    definition = json.dumps({"type": "record", "name": "Order", "fields": fields})
    _, name = topic.split("/", 1)
    site.admin.post(f"schemas/{name}/schema", {"type": "AVRO", "schema": definition, "properties": {}})
    site.subscribe(topic, "keeps the ledgers").close()
    ledgers = site.admin.get(f"{topic}/internalStats")["schemaLedgers"]
    assert {ledger["ledgerId"] for ledger in ledgers} <= site.known_ledgers()
    assert len(ledgers) == 1
    site.unload(topic)
    assert json.loads(site.admin.get(f"schemas/{name}/schema")["data"])["name"] == "Order"

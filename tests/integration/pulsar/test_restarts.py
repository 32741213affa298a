"""Brokers and bookies that are stopped and killed below a topic: nothing that was acknowledged is lost."""

import threading

import pytest

from bookkeeper_tx.model import LedgerState
from tests.integration.pulsar.site import ENTRIES_PER_LEDGER, WAIT_S, Site, pulsar_client, wait_until

pytestmark = [pytest.mark.java, pytest.mark.full, pytest.mark.crash]

COUNT = 220
OVER_V3 = {"bookkeeperUseV2WireProtocol": "false"}


def numbered(begin: int, end: int) -> list[bytes]:
    return [f"message {number}".encode() for number in range(begin, end)]


class Sending:
    """A thread that sends numbered messages, one after another; a context manager, at whose end it ends, too."""

    def __init__(self, site: Site, topic: str) -> None:
        self.acknowledged: list[bytes] = []
        self._end = threading.Event()
        self._some = threading.Condition()
        self._producer = site.producer(topic)
        self._thread = threading.Thread(target=self._send, daemon=True)

    def __enter__(self) -> "Sending":
        self._thread.start()
        return self

    def __exit__(self, *of_an_error: object) -> None:
        self._end.set()

    def wait_for_more(self, count: int = 30) -> None:
        """Return when so many more have been acknowledged."""
        with self._some:
            wanted = len(self.acknowledged) + count
            assert self._some.wait_for(lambda: len(self.acknowledged) >= wanted, WAIT_S)

    def end(self) -> list[bytes]:
        """Send no more; returns the messages that were acknowledged."""
        self._end.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        self._producer.close()
        return self.acknowledged

    def _send(self) -> None:
        number = 0
        while not self._end.is_set():
            payload = f"message {number}".encode()
            self._producer.send(payload)  # the client sends again what the broker has not acknowledged
            number += 1
            with self._some:
                self.acknowledged.append(payload)
                self._some.notify_all()


def distinct(messages: list[bytes]) -> list[bytes]:
    """Without those that were sent again because nobody knew whether they had arrived."""
    return list(dict.fromkeys(messages))


def all_messages(site: Site, topic: str) -> list[bytes]:
    """What a reader finds from the earliest message to the end."""
    pulsar = pulsar_client()
    reader = site.client.create_reader(topic.replace("/", "://", 1), pulsar.MessageId.earliest)
    messages = []
    while reader.has_message_available():
        messages.append(reader.read_next(WAIT_S * 1000).data())
    reader.close()
    return messages


def test_a_broker_that_was_stopped_goes_on(site: Site) -> None:
    topic = site.new_topic()
    consumer = site.subscribe(topic, "billing")
    site.send(topic, numbered(0, COUNT))
    for number in range(COUNT):
        message = consumer.receive(WAIT_S * 1000)
        if number < 100 or number % 2:
            consumer.acknowledge(message)
    consumer.close()
    # A cursor that Pulsar closes while it makes its ledger forgets what was acknowledged: two writes of a node collide.
    wait_until(lambda: site.cursor_state(topic, "billing") == "Open", "the cursor has a ledger")

    site.broker.stop()
    site.broker.start()

    consumer = site.subscribe(topic, "billing")
    left = [consumer.receive(WAIT_S * 1000).data() for _ in range(60)]
    consumer.close()
    assert left == numbered(0, COUNT)[100::2]
    site.send(topic, numbered(COUNT, COUNT + 10))
    assert all_messages(site, topic)[-70:] == numbered(COUNT - 60, COUNT + 10)


def test_a_broker_that_is_killed_loses_nothing_that_was_acknowledged(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    with Sending(site, topic) as sending:
        sending.wait_for_more(120)
        open_ledger = site.admin.ledger_ids(topic)[-1]

        site.broker.kill()
        site.broker.start()

        sending.wait_for_more()
        acknowledged = sending.end()
    assert distinct(all_messages(site, topic)) == acknowledged
    assert site.ledger_metadata(open_ledger).state is LedgerState.CLOSED


def test_a_topic_goes_on_while_a_bookie_is_killed_and_is_read_from_the_others(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    with Sending(site, topic) as sending:
        sending.wait_for_more()
        killed = site.bookies.index_of(sorted(site.bookies_of(site.admin.ledger_ids(topic)[-1]))[0])

        site.bookies.kill(killed)
        sending.wait_for_more(2 * ENTRIES_PER_LEDGER)
        assert site.bookies.bookie_ids[killed] not in site.bookies_of(site.admin.ledger_ids(topic)[-1])
        site.bookies.restart(killed)
        sending.wait_for_more(2 * ENTRIES_PER_LEDGER)
        acknowledged = sending.end()

    other = (killed + 1) % 3
    site.bookies.stop_bookie(other)
    site.unload(topic)
    messages = all_messages(site, topic)
    site.bookies.restart(other)
    assert distinct(messages) == acknowledged


def test_all_bookies_may_be_killed_at_once(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    with Sending(site, topic) as sending:
        sending.wait_for_more(120)

        for index in range(3):
            site.bookies.kill(index)
        site.bookies.start()

        sending.wait_for_more()
        acknowledged = sending.end()
    site.unload(topic)
    assert distinct(all_messages(site, topic)) == acknowledged


def test_over_v3_and_with_the_metadata_driver_of_bookkeeper(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    site.send(topic, numbered(0, COUNT))

    site.broker.stop()
    site.broker.start(**OVER_V3, bookkeeperMetadataServiceUri=site.bookies.metadata_uri)

    site.send(topic, numbered(COUNT, COUNT + 100))
    site.unload(topic)
    messages = all_messages(site, topic)
    site.broker.stop()
    site.broker.start()
    assert messages == numbered(0, COUNT + 100)

"""Pulsar moves the ledgers of a topic from bookies of ours to a file system."""

from typing import Any

import pytest

from tests.integration.pulsar.site import ENTRIES_PER_LEDGER, Site, wait_until

pytestmark = [pytest.mark.java, pytest.mark.full]

LEDGERS = 4
MESSAGES = [f"message {number}".encode() for number in range(LEDGERS * ENTRIES_PER_LEDGER + 20)]


def offloaded(site: Site, topic: str) -> list[int]:
    """The ledgers that Pulsar reads from the file system."""
    return [ledger["ledgerId"] for ledger in site.admin.ledgers(topic) if ledger["offloaded"]]


def test_what_was_offloaded_is_deleted_in_bookkeeper_and_read_all_the_same(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    site.send(topic, MESSAGES)
    *full, last = site.admin.ledger_ids(topic)
    assert len(full) == LEDGERS
    site.admin.put(f"{topic}/offload", {"ledgerId": last, "entryId": 0, "partitionIndex": -1})

    def status() -> Any:
        return site.admin.get(f"{topic}/offload")

    wait_until(lambda: status()["status"] in ("SUCCESS", "ERROR"), "the offload has ended")
    assert status()["status"] == "SUCCESS", status()
    assert offloaded(site, topic) == full

    def left() -> set[int]:
        site.admin.post(f"{topic}/trim")
        return site.known_ledgers() & set(full)

    wait_until(lambda: not left(), "what was offloaded is deleted in BookKeeper")
    site.unload(topic)
    assert site.read(topic, len(MESSAGES)) == MESSAGES
    assert last in site.known_ledgers()

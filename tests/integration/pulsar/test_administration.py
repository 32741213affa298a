"""The calls of Pulsar's administrators that are about bookies."""

from collections.abc import Iterator

import pytest

from tests.integration.pulsar.admin import AdminError
from tests.integration.pulsar.site import ENTRIES_PER_LEDGER, Site, wait_until

pytestmark = [pytest.mark.java, pytest.mark.full]

LEDGERS = 4
MESSAGES = [b"message"] * (LEDGERS * ENTRIES_PER_LEDGER)


@pytest.fixture
def racks(site: Site) -> Iterator[dict[str, str]]:
    """Bookie to rack, one bookie in the first and two in the second; as it was at the end."""
    first, *others = site.bookies.bookie_ids
    racks = {first: "/first", **dict.fromkeys(others, "/second")}
    for bookie, rack in racks.items():
        site.admin.post(f"bookies/racks-info/{bookie}?group=default", {"rack": rack, "hostname": bookie})
    yield racks
    for bookie in racks:
        site.admin.delete(f"bookies/racks-info/{bookie}")


def test_every_bookie_is_listed(site: Site) -> None:
    listed = site.admin.get("bookies/all")["bookies"]
    assert sorted(each["bookieId"] for each in listed) == sorted(site.bookies.bookie_ids)


def test_racks_are_set_listed_and_removed(site: Site, racks: dict[str, str]) -> None:
    assert {bookie: info["rack"] for bookie, info in site.admin.get("bookies/racks-info")["default"].items()} == racks
    bookie = site.bookies.bookie_ids[0]
    assert site.admin.get(f"bookies/racks-info/{bookie}")["rack"] == "/first"
    site.admin.delete(f"bookies/racks-info/{bookie}")
    with pytest.raises(AdminError) as missing:
        site.admin.get(f"bookies/racks-info/{bookie}")
    assert missing.value.status == 404
    site.admin.post(f"bookies/racks-info/{bookie}?group=default", {"rack": "/first", "hostname": bookie})


def test_a_new_ledger_has_a_bookie_in_each_rack(site: Site, racks: dict[str, str]) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()

    def spread() -> bool:
        site.send(topic, MESSAGES)  # the broker hears of racks a moment later
        newest = site.admin.ledger_ids(topic)[-LEDGERS:]
        return all(len({racks[bookie] for bookie in site.bookies_of(each)}) == 2 for each in newest)

    wait_until(spread, "every new ledger is in both racks")


def test_the_quorums_of_a_namespace_are_those_of_its_ledgers(site: Site) -> None:
    site.admin.make_namespace("three", ensemble=3, write=3, ack=2)
    topic = site.new_topic("three")
    site.send(topic, [b"message"])
    metadata = site.ledger_metadata(site.admin.ledger_ids(topic)[-1])
    assert (metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size) == (3, 3, 2)
    assert site.read(topic, 1) == [b"message"]


def test_a_namespace_is_kept_on_the_bookies_of_its_group(site: Site) -> None:
    group = site.bookies.bookie_ids[:2]
    for bookie in group:
        site.admin.post(f"bookies/racks-info/{bookie}?group=orders", {"rack": "/rack", "hostname": bookie})
    site.admin.make_namespace("grouped", ensemble=2, write=2, ack=2)
    affinity = {"bookkeeperAffinityGroupPrimary": "orders"}
    site.admin.post("namespaces/public/grouped/persistence/bookieAffinity", affinity)
    topic = site.new_topic("grouped")
    site.subscribe(topic, "keeps the ledgers").close()

    def grouped() -> bool:
        site.send(topic, MESSAGES)
        newest = site.admin.ledger_ids(topic)[-LEDGERS:]
        return all(site.bookies_of(each) == set(group) for each in newest)

    wait_until(grouped, "every new ledger is on the bookies of the group")
    for bookie in group:
        site.admin.delete(f"bookies/racks-info/{bookie}")


def test_internal_statistics_name_ledgers_and_bookies(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    site.send(topic, MESSAGES)
    ledgers = site.admin.ledgers(topic)
    assert [ledger["entries"] for ledger in ledgers[:LEDGERS]] == [ENTRIES_PER_LEDGER] * LEDGERS
    for ledger in ledgers:
        assert all(bookie in ledger["metadata"] for bookie in site.bookies_of(ledger["ledgerId"]))
        assert ledger["underReplicated"]  # it says that of every ledger; see the guide


def test_internal_information_lists_the_ledgers(site: Site) -> None:
    topic = site.new_topic()
    site.subscribe(topic, "keeps the ledgers").close()
    site.send(topic, MESSAGES)

    def listed() -> list[int]:
        return [ledger["ledgerId"] for ledger in site.admin.get(f"{topic}/internal-info")["ledgers"]]

    # The last one is begun when the one before it is full, and nobody waits for that.
    wait_until(lambda: listed() == site.admin.ledger_ids(topic), "both calls list the same ledgers")
    assert len(listed()) == LEDGERS + 1

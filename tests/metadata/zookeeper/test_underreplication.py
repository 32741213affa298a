"""bookkeeper_tx.metadata.zookeeper.underreplication: what Java's autorecovery has left in ZooKeeper."""

from typing import Any

import pytest

from bookkeeper_tx.model import Replication
from tests.conftest import result_of
from tests.metadata.zookeeper.zookeeper_world import World

ROOT = "/made/ledgers/underreplication"


def found(**nodes: bytes) -> Any:
    world = World()
    store, _ = world.open()
    world.server.create(ROOT, b"")
    for folder in ("ledgers", "auditorelection"):
        world.server.create(f"{ROOT}/{folder}", b"")
    for path, data in nodes.items():
        at = ROOT
        for name in path.split("__"):
            at += f"/{name}"
            if at not in world.server.nodes:
                world.server.create(at, data)
    return result_of(store.replication())


def test_a_cluster_without_an_auditor_has_nothing_to_do() -> None:
    store, _ = World().open()
    assert result_of(store.replication()) == Replication()
    assert found() == Replication(auditor=None, enabled=True, is_due=False)


def test_the_lowest_vote_is_the_auditors() -> None:
    votes = {
        "auditorelection__V_0000000009": b'bookieId: "b:1"\n',
        "auditorelection__V_0000000003": b'bookieId: "a:1"\n',
    }
    assert found(**votes).auditor == "a:1"


def test_it_may_be_switched_off() -> None:
    assert not found(disable=b"").enabled


@pytest.mark.parametrize(
    ("path", "is_due"), [("ledgers__0000__0000__0000__0007__urL0000000007", True), ("ledgers__0000", False)]
)
def test_a_marked_ledger_is_found_below_its_four_levels(path: str, is_due: bool) -> None:
    assert found(**{path: b""}).is_due is is_due

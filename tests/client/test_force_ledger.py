"""Force in any ledger, and its results."""

from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    LedgerClosed,
    RequestTimedOut,
)
from tests.client.deferring import append, deferring
from tests.client.puppets import Cluster


def test_forces_may_overtake_each_other() -> None:
    cluster, writer = deferring((1, 1, 1))
    append(cluster, writer)
    first = writer.force()
    cluster.network.run(until=lambda: cluster.network.messages[0].text.startswith("reply"))
    held = cluster.network.messages.pop(0)
    append(cluster, writer)
    cluster.result(writer.force())
    assert writer.last_add_confirmed == 1
    held.arrive()
    cluster.result(first)
    assert writer.last_add_confirmed == 1


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_any_ledger_can_be_forced(protocol: str) -> None:
    cluster = Cluster()
    writer = cluster.result(cluster.client(ClientConfig(protocol=protocol)).create_ledger(3, 2, 2))
    append(cluster, writer)
    cluster.result(writer.force())
    forced = [each for bookie in cluster.bookies.values() for each in bookie.requests if "force" in each]
    assert len(forced) == 3, "the whole ensemble"


def test_a_force_fails_with_the_first_bookie_that_fails() -> None:
    cluster, writer = deferring()
    append(cluster, writer)
    bookie = writer.metadata.last_fragment.ensemble[2]
    forcing = writer.force()
    cluster.network.lose(cluster.network.find(f"request {bookie} force"))
    with pytest.raises(RequestTimedOut, match=f"bookie {bookie} did not force ledger 0"):
        cluster.result(forcing)
    cluster.network.run()
    assert writer.last_add_confirmed == -1
    cluster.result(writer.force())
    assert writer.last_add_confirmed == 0


def test_a_force_can_be_cancelled() -> None:
    cluster, writer = deferring()
    append(cluster, writer)
    forcing = writer.force()
    failed: list[Any] = []
    forcing.addErrback(failed.append)
    forcing.cancel()
    cluster.network.run()
    assert len(failed) == 1
    assert writer.last_add_confirmed == -1


def test_a_closed_writer_forces_nothing() -> None:
    cluster, writer = deferring()
    cluster.result(writer.close())
    with pytest.raises(LedgerClosed):
        cluster.result(writer.force())
    assert not any("force" in each for bookie in cluster.bookies.values() for each in bookie.requests)

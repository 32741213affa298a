"""The contract of every metadata store: scenarios on a MetadataStore, run on each store by tests/integration.

A scenario is a coroutine function; it gets a :class:`Cluster` of a kind of store and opens the stores it needs.
``cluster.open()`` is another process's view as far as the store can tell.  Those about ledgers are in
ledger_scenarios.py, those about bookies in bookie_scenarios.py, those about named records in record_scenarios.py.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.model import BookieServiceInfo, DigestType, Fragment, LedgerId, LedgerMetadata
from protocol_specs.metadata import bookie

INFO = BookieServiceInfo("127.0.0.1", 3181)
OTHER_INFO = BookieServiceInfo("127.0.0.1", 4181, extensions=frozenset({bookie.LEDGER_SCOPE_ID, bookie.TLS}))
METADATA = LedgerMetadata(
    2, 2, 1, [Fragment(0, ("a:1", "b:2"))], DigestType.CRC32C, b"pw", custom_metadata={"app": b"\x00x"}
)


class Cluster:
    """One metadata cluster under test; a kind of store subclasses it."""

    async def open(self) -> Any:
        """Return another started store of the cluster."""
        raise NotImplementedError

    async def raw_ledger(self, ledger_id: int) -> bytes:
        """Return the stored bytes of a ledger's metadata."""
        raise NotImplementedError

    async def put_raw_ledger(self, ledger_id: int, record: bytes) -> None:
        """Store bytes as a ledger's metadata, as somebody else does."""
        raise NotImplementedError

    async def until(self, condition: Callable[[], bool | Awaitable[bool]], timeout_s: float = 10) -> None:
        """Wait until ``condition()`` holds."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop all stores that were opened."""
        raise NotImplementedError


Scenario = Callable[[Cluster], Coroutine[Any, Any, None]]
LedgerScenario = Callable[[Cluster, Callable[[int], int]], Coroutine[Any, Any, None]]
SCENARIOS: list[Any] = []

SCOPE_ID = -7_000_000_000_000_000_001
"""Some scope with the upper bit set, as half of all UUIDs have it."""


def scenario(function: Scenario) -> Scenario:
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


def ledger_scenario(function: LedgerScenario) -> LedgerScenario:
    """A scenario that is run in scope 0 and in another one; its argument turns a number into an id of the scope."""
    for where, id_of in (("", int), ("_in_a_scope", lambda number: LedgerId(number, SCOPE_ID))):
        SCENARIOS.append(pytest.param(partial(function, at=id_of), id=function.__name__ + where))
    return function


# The cluster ---------------------------------------------------------------------------------------------------------


@scenario
async def a_new_cluster_has_an_instance_id_and_keeps_it(cluster: Cluster) -> None:
    first, second = await cluster.open(), await cluster.open()
    assert await first.initialize() is True
    assert await second.initialize() is False
    instance_id = await first.instance_id()
    assert len(instance_id) == 36
    assert await second.instance_id() == instance_id


@scenario
async def before_it_is_initialized_a_cluster_says_what_to_do(cluster: Cluster) -> None:
    store = await cluster.open()
    with pytest.raises(MetadataUnavailable, match="bktx cluster init"):
        await store.new_ledger_id()
    with pytest.raises(MetadataUnavailable, match="bktx cluster init"):
        await store.create_ledger(1, METADATA)
    await store.initialize()
    assert await store.new_ledger_id() >= 0


@scenario
async def after_stop_everything_fails_at_once(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    await store.stop()
    await store.stop()
    with pytest.raises(MetadataUnavailable, match="stopped"):
        await store.list_ledgers()
    with pytest.raises(MetadataUnavailable, match="stopped"):
        await store.register_bookie("a:1", INFO)

"""Once all is well everything goes on, within a minute: who does not is noticed."""

from types import SimpleNamespace
from typing import Any

import pytest

from bookkeeper_tx.errors import BookieUnavailable
from tests.simulation.world import simulation as simulation_module
from tests.simulation.world.audit import go_on
from tests.simulation.world.client_node import ClientNode
from tests.simulation.world.history import History, Stuck
from tests.simulation.world.simulation import PROGRESS_S, START_S, WORK_S, Simulation
from tests.simulation.world.timeline import Timeline

END_S = START_S + WORK_S + PROGRESS_S


async def _never(node: ClientNode, *_: Any) -> None:
    await node.driver.promise()


def test_a_client_that_cannot_write_any_more_is_stuck_before_the_time_is_over() -> None:
    timeline = Timeline()

    async def sleep(seconds: float) -> None:
        timeline.now += seconds

    async def create_ledger(*_: Any) -> None:
        raise BookieUnavailable("it has not come back")

    client = SimpleNamespace(create_ledger=create_ledger)
    node: Any = SimpleNamespace(client=client, machine=SimpleNamespace(timeline=timeline), sleep=sleep)
    with pytest.raises(Stuck, match="all is well, and yet: BookieUnavailable it has not come back"):
        go_on(node, History(), END_S).send(None)
    assert END_S - 5 < timeline.now < END_S


def test_a_client_that_hangs_after_the_faults_is_noticed_in_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation_module, "go_on", _never)
    simulation = Simulation(1)
    assert "have not done all" in str(simulation.run().violation)
    assert simulation.timeline.now == END_S


def test_a_bookie_that_is_not_writable_again_is_noticed_in_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Simulation, "_not_writable", lambda _: ["10.0.0.1:3181"])
    simulation = Simulation(1)
    assert "['10.0.0.1:3181'] are not writable" in str(simulation.run().violation)
    assert simulation.timeline.now == END_S

"""Faults that wait for a moment, and those that belong together."""

from random import Random

import pytest
from attrs import evolve

from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata, LedgerState
from tests.simulation.world import plots
from tests.simulation.world.aim import Aim, Aiming
from tests.simulation.world.fault import Fault
from tests.simulation.world.history import LedgerHistory, Violation
from tests.simulation.world.simulation import Simulation

SOON = Aim("append", 1, 0.0, faithful=True)


def test_a_fault_that_is_aimed_waits_for_its_moment_at_the_same_ledger() -> None:
    simulation = Simulation(1)
    struck: list[Fault] = []
    aiming = Aiming(simulation, struck.append)
    prey, other = (_open_ledger(ledger_id, simulation.bookies[0].bookie_id) for ledger_id in (7, 8))
    first, second = Aim("append", 2, 0.1, faithful=True), Aim("recovery", 1, 0.0, faithful=True)
    aiming.wait(Fault(0.0, "kill", 3, 1.0, 1, first))
    aiming.wait(Fault(0.0, "stop", 3, 1.0, 2, second))
    aiming.happened("append", prey)
    simulation.timeline.run(1.0)
    assert struck == []
    aiming.happened("append", prey)
    aiming.happened("recovery", other)
    simulation.timeline.run(2.0)
    assert [(each.kind, each.ledger_id) for each in struck] == [("kill", 7)]
    aiming.happened("recovery", prey)
    simulation.timeline.run(3.0)
    assert [(each.kind, each.ledger_id, each.target) for each in struck[1:]] == [("stop", 7, 0)]


def _open_ledger(ledger_id: int, bookie_id: str) -> LedgerHistory:
    metadata = LedgerMetadata(1, 1, 1, (Fragment(0, (bookie_id,)),), DigestType.CRC32C)
    return LedgerHistory(ledger_id, {}, metadata=metadata)


def _ledger_of(simulation: Simulation, size: int) -> LedgerHistory:
    """Return a ledger of the first so many bookies, that the first client writes."""
    ensemble = tuple(each.bookie_id for each in simulation.bookies[:size])
    ledger = simulation.history.of(7)
    ledger.written(LedgerMetadata(size, size, size, (Fragment(0, ensemble),), DigestType.CRC32C))
    return ledger


def test_faults_of_one_place_strike_at_one_bookie_of_the_ledger() -> None:
    simulation = Simulation(1)
    struck: list[Fault] = []
    aiming = Aiming(simulation, struck.append)
    for seed, place in enumerate((10, 10, 11)):
        aiming.wait(Fault(0.0, "kill", place, 1.0, seed, SOON, is_placed=True))
    aiming.happened("append", _ledger_of(simulation, 3))
    simulation.timeline.run(1.0)
    assert [each.target for each in struck] == [1, 1, 2]


def test_a_fault_strikes_at_the_writer_or_at_another_client() -> None:
    simulation = Simulation(1)
    _ledger_of(simulation, 3).writer = 1
    faults = [Fault(0.0, "reset", 0, 1.0, 1, SOON, 7, party=party) for party in ("writer", "other")]
    assert [simulation.client_of(each, Random(1)) is simulation.clients[1] for each in faults] == [True, False]


def test_every_plot_can_be_drawn_with_what_it_says() -> None:
    for seed in range(200):
        for fault in plots.draw(Random(seed), 2.0):
            assert fault.at_s == 2.0
            assert fault.aim is not None
            assert fault.aim.faithful


def test_new_bookies_begin_behind_what_was_acknowledged() -> None:
    ledger = LedgerHistory(7, {}, payloads=[b""] * 3)
    metadata = LedgerMetadata(1, 1, 1, (Fragment(0, ("a",)),), DigestType.CRC32C)
    ledger.written(metadata)
    ledger.acknowledge(0, 0)
    metadata = metadata.with_fragment(Fragment(1, ("b",)))
    ledger.written(metadata)
    ledger.acknowledge(1, 1)
    with pytest.raises(Violation, match="new bookies from 1 on, and 1 was confirmed"):
        ledger.written(metadata.with_fragment(Fragment(1, ("c",))))
    # A recovery writes it to the new ones.
    LedgerHistory(7, {}, payloads=[b""] * 3, acknowledged=1, metadata=metadata).written(
        evolve(metadata.with_fragment(Fragment(1, ("c",))), state=LedgerState.IN_RECOVERY)
    )


def test_what_has_no_digest_may_be_damaged_though_the_ledger_is_deleted() -> None:
    ledger = LedgerHistory(7, {"damage": 1}, payloads=[b"a"], delete_asked=True)
    ledger.written(LedgerMetadata(1, 1, 1, (Fragment(0, ("a",)),), DigestType.DUMMY))
    ledger.written(None)
    ledger.read(0, b"other", 0)

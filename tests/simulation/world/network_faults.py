"""What can be wrong between machines."""

from random import Random
from typing import TYPE_CHECKING

from tests.simulation.world.fault import Fault, fault

if TYPE_CHECKING:
    from tests.simulation.world.simulation import Simulation

TO_BOOKIE = 0.4
"""How many of the broken and of the bad frames are those of clients."""


@fault(2)
def partition(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """Nothing passes between a bookie and some others, in one direction or in both."""
    network = simulation.network
    one = simulation.bookie(fault).machine.address
    others = [each for each in network.machines if each != one]
    cut: list[tuple[str, str]] = []
    for other in random.sample(others, random.randrange(1, len(others) + 1)):
        cut += random.choice(([(one, other)], [(other, one)], [(one, other), (other, one)]))
    network.cut.update(cut)

    def heal() -> None:
        for source, target in cut:
            network.heal(source, target)

    simulation.ends(fault, heal)


@fault(1)
def swallowed_flow(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A connection brings nothing any more; new ones between the same hosts do."""
    for connection in simulation.connections(fault, random):
        connection.swallowed = True


@fault(1)
def reset(simulation: "Simulation", fault: Fault, random: Random) -> None:
    for connection in simulation.connections(fault, random):
        connection.break_now()


@fault(1)
def half_a_frame(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """Connections break in the middle of what the bookie says, or of what is said to it."""
    connections = simulation.connections(fault, random)
    counts = [random.randrange(1, 200) for _ in connections]
    to_bookie = random.random() < TO_BOOKIE and not fault.is_placed
    for connection, count in zip(connections, counts, strict=True):
        (connection.server if to_bookie else connection.client).cut_after = count


@fault(0.5)
def junk(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """Bytes that are no frame come behind what the bookie has said, or behind what was said to it."""
    simulation.history.count("damage")
    connections = simulation.connections(fault, random)
    to_bookie = random.random() < TO_BOOKIE
    size = random.choice((4, 20, 64))
    junk = random.choice((b"\xff" * 64, bytes(64), size.to_bytes(4, "big") + random.randbytes(size)))
    for connection in connections:
        (connection.client if to_bookie else connection.server).add_junk(junk)


@fault(1)
def accepts_and_closes(simulation: "Simulation", fault: Fault, random: Random) -> None:
    address = simulation.bookie(fault).machine.address
    simulation.network.closes_at_once.add(address)
    for connection in simulation.connections(fault, random):
        connection.break_now()
    simulation.ends(fault, lambda: simulation.network.closes_at_once.discard(address))


@fault(2)
def refused_client(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A bookie breaks the connections of one client, and takes no new ones of it; for others it is there."""
    network, bookie = simulation.network, simulation.bookie(fault).machine.address
    client = simulation.client_of(fault, random).node.machine.address
    network.refused.add((client, bookie))
    for connection in network.between(bookie, client):
        connection.break_now()
    simulation.ends(fault, lambda: network.refused.discard((client, bookie)))


@fault(0.5)
def late_requests(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """What one client sends to a bookie is late; others do not notice."""
    client = simulation.client_of(fault, random).node.machine.address
    _be_late(simulation, fault, random, client, simulation.bookie(fault).machine.address)


@fault(0.5)
def late_answers(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """What a bookie sends to one client is late; others do not notice."""
    client = simulation.client_of(fault, random).node.machine.address
    _be_late(simulation, fault, random, simulation.bookie(fault).machine.address, client)


def _be_late(simulation: "Simulation", fault: Fault, random: Random, source: str, target: str) -> None:
    late = simulation.network.late
    late[source, target] = random.choice((0.01, 0.1, 1.0)) if fault.by_s is None else fault.by_s
    simulation.ends(fault, lambda: late.pop((source, target), None))


@fault(1)
def slow_link(simulation: "Simulation", fault: Fault, random: Random) -> None:
    address = simulation.bookie(fault).machine.address
    simulation.network.slow[address] = random.choice(((0.05, 1e6), (0.5, 20e3), (2.0, 100e6), (0.001, 5e3)))
    simulation.ends(fault, lambda: simulation.network.slow.pop(address, None))


@fault(1)
def loss(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.network.loss = random.choice((0.01, 0.1, 0.3))
    simulation.ends(fault, lambda: setattr(simulation.network, "loss", 0.0))

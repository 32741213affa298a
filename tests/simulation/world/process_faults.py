"""What can be wrong with clocks, processes and the metadata store."""

from random import Random
from typing import TYPE_CHECKING

from tests.simulation.world.fault import Fault, fault

if TYPE_CHECKING:
    from tests.simulation.world.simulation import Simulation


# Clocks --------------------------------------------------------------------------------------------------------------


@fault(1)
def clock_step(simulation: "Simulation", fault: Fault, random: Random) -> None:
    by_s = random.choice((-3600.0, -10.0, -1.0, 1.0, 10.0, 3600.0)) if fault.by_s is None else fault.by_s
    simulation.machine(fault).step_clock(by_s)


@fault(1)
def late_turn(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A process does nothing for a while: it was stopped, its machine slept, or it was busy."""
    simulation.machine(fault).pause(random.choice((0.3, 2.0, 6.0, 12.0)))


# Processes -----------------------------------------------------------------------------------------------------------


@fault(2)
def kill(simulation: "Simulation", fault: Fault, random: Random) -> None:
    node = simulation.bookie(fault)
    node.kill()
    simulation.ends(fault, node.start)


@fault(0.5)
def blackout(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """All bookies are killed, or lose their power, at the same time."""
    fails_power = random.random() < 0.5
    for node in simulation.bookies:
        if fails_power and node.is_up:
            node.fail_power()
        else:
            node.kill()
        simulation.ends(fault, node.start)


@fault(1)
def stop(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A bookie is told to stop, and is started again."""
    node = simulation.bookie(fault)
    node.stop()
    simulation.ends(fault, node.start)


@fault(3)
def takeover(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """Clients recover a ledger that is written, one or several of them at nearly the same time."""
    for client in simulation.clients_of(fault, random, random.choice((1, 1, len(simulation.clients)))):
        delay_s = random.choice((0.0, 0.001, 0.01, 0.1, 1.0))
        simulation.timeline.after(delay_s, client.take_over, fault.ledger_id, random.random())


@fault(1)
def killed_client(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.restart_client(fault)


# The metadata store --------------------------------------------------------------------------------------------------


@fault(1)
def store_away(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.server.away_until = simulation.timeline.now + fault.lasts_s


@fault(1)
def slow_store(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.server.slow_s = random.choice((0.1, 1.0, 4.0))
    simulation.ends(fault, lambda: setattr(simulation.server, "slow_s", 0.0))


@fault(1)
def lost_answers(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """The store does what it is asked, and nobody hears of it."""
    simulation.server.lost_answers = 0.5
    simulation.ends(fault, lambda: setattr(simulation.server, "lost_answers", 0.0))


@fault(1)
def expired_session(simulation: "Simulation", fault: Fault, random: Random) -> None:
    node = simulation.bookie(fault)
    if node.session is not None and node.is_up:
        node.session.expire()

"""What can go wrong: each fault is drawn from the seed before anything happens, and can be left out."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from tests.simulation.world.simulation import Simulation


@frozen
class Fault:
    """One thing that goes wrong at a time; it ends after ``lasts_s``, if it is one that ends."""

    at_s: float
    kind: str
    target: int
    """A number from which the machine is chosen."""
    lasts_s: float
    seed: int
    """Draws the rest."""

    def __str__(self) -> str:
        return f"{self.at_s:6.2f} s: {self.kind} of {self.target}, {self.lasts_s:.2f} s"


Make = Callable[["Simulation", Fault, Random], None]

KINDS: dict[str, Make] = {}
"""All faults, by name."""

WEIGHTS: dict[str, float] = {}


def fault(weight: float) -> Callable[[Make], Make]:
    """Make a function one of the faults, drawn so often."""

    def add(make: Make) -> Make:
        name = make.__name__.replace("_", " ")
        KINDS[name], WEIGHTS[name] = make, weight
        return make

    return add


def chosen_kinds(random: Random, count: int) -> list[str]:
    """Draw so many kinds."""
    return random.choices(list(KINDS), [WEIGHTS[kind] for kind in KINDS], k=count)


def draw(random: Random, count: int, end_s: float) -> list[Fault]:
    """Return so many faults between now and ``end_s``."""
    drawn = []
    for kind in chosen_kinds(random, count):
        lasts_s = random.choice((0.1, 1, 4, 8))
        drawn.append(Fault(random.random() * end_s, kind, random.randrange(1000), lasts_s, random.getrandbits(32)))
    return sorted(drawn, key=lambda each: each.at_s)


# Network -------------------------------------------------------------------------------------------------------------


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
    """A connection breaks in the middle of what the bookie says."""
    for connection in simulation.connections(fault, random):
        connection.cut_after = random.randrange(1, 200)


@fault(0.5)
def junk(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """Bytes that are no frame come behind what the bookie has said."""
    simulation.history.count("damage")
    for connection in simulation.connections(fault, random):
        connection.add_junk()


@fault(1)
def accepts_and_closes(simulation: "Simulation", fault: Fault, random: Random) -> None:
    address = simulation.bookie(fault).machine.address
    simulation.network.closes_at_once.add(address)
    for connection in simulation.connections(fault, random):
        connection.break_now()
    simulation.ends(fault, lambda: simulation.network.closes_at_once.discard(address))


@fault(1)
def slow_link(simulation: "Simulation", fault: Fault, random: Random) -> None:
    address = simulation.bookie(fault).machine.address
    simulation.network.slow[address] = random.choice(((0.05, 1e6), (0.5, 20e3), (2.0, 100e6), (0.001, 5e3)))
    simulation.ends(fault, lambda: simulation.network.slow.pop(address, None))


@fault(1)
def loss(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.network.loss = random.choice((0.01, 0.1, 0.3))
    simulation.ends(fault, lambda: setattr(simulation.network, "loss", 0.0))


# Disks ---------------------------------------------------------------------------------------------------------------


@fault(1)
def stalled_disk(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.bookie(fault).disk.stalled_until = simulation.timeline.now + fault.lasts_s


@fault(1)
def failing_writes(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.bookie(fault).disk.fail_writes(random.randrange(1, 4))


@fault(0.5)
def failing_syncs(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.bookie(fault).disk.fail_syncs(1)


@fault(0.5)
def no_descriptors(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.bookie(fault).disk.fail_opens(random.randrange(1, 4))


@fault(1)
def full_disk(simulation: "Simulation", fault: Fault, random: Random) -> None:
    disk = simulation.bookie(fault).disk
    disk.capacity = random.choice((0, 100, 5000))
    simulation.ends(fault, lambda: setattr(disk, "capacity", None))


@fault(1)
def power_failure(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """The power fails at some disk operation that follows soon, or now."""
    node = simulation.bookie(fault)
    if random.random() < 0.5:
        node.disk.crash_at = random.randrange(40)
    elif node.is_up:
        node.fail_power()
    simulation.ends(fault, node.start)


@fault(0.5)
def read_only_disk(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A file system turns read-only after an error, until somebody mounts it again."""
    node = simulation.bookie(fault)
    node.disk.read_only = True
    simulation.ends(fault, node.mount_again)


@fault(0.5)
def lost_disk(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A bookie and all that it has stored is gone for good; of one bookie only, for as many copies are made."""
    node = simulation.bookie(fault)
    if simulation.may_damage(node):
        node.kill()
        node.stays_down = True


@fault(0.5)
def bit_flip(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A bit of a journal or of an entry log is another, of the only bookie that may be damaged."""
    node = simulation.bookie(fault)
    paths = [] if node.disk.crashed else [each for each in node.disk.files() if each.endswith((".txn", ".log"))]
    if paths and simulation.may_damage(node):
        path = random.choice(sorted(paths))
        node.disk.flip_bit(path, random.randrange(8 * 5000))


# Clocks --------------------------------------------------------------------------------------------------------------


@fault(1)
def clock_step(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.machine(fault).step_clock(random.choice((-3600.0, -10.0, -1.0, 1.0, 10.0, 3600.0)))


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


@fault(1)
def stop(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A bookie is told to stop, and is started again."""
    node = simulation.bookie(fault)
    node.stop()
    simulation.ends(fault, node.start)


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

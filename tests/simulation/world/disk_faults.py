"""What can be wrong with the disk of a bookie."""

import os
from random import Random
from typing import TYPE_CHECKING

from attrs import define

from tests.simulation.world import bit_flips
from tests.simulation.world.bit_flips import MARK, goes_on, is_behind
from tests.simulation.world.bookie_node import JOURNAL, LEDGERS
from tests.simulation.world.disk import Snapshot
from tests.simulation.world.fault import Fault, fault

if TYPE_CHECKING:
    from tests.simulation.world.simulation import Simulation

LOOK_S = 0.05
"""How often a fault looks whether its time has come."""

MARKS, INDEXES = 0.2, 0.3
"""How many of the flipped bits are those of a mark, and of an index file."""


@define
class Looks:
    """The looks of a fault whether its time has come."""

    over: bool = False


@fault(1)
def stalled_disk(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.bookie(fault).disk.stalled_until = simulation.timeline.now + fault.lasts_s


@fault(0.5)
def failing_writes(simulation: "Simulation", fault: Fault, random: Random) -> None:
    simulation.bookie(fault).disk.fail_writes(random.randrange(1, 4))


@fault(0.5)
def failing_reads(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """Files and databases cannot be read for a while: who asks is told so, not that there is nothing."""
    disk = simulation.bookie(fault).disk
    disk.fail_reads(random.choice((1, 3, 10, 100)))
    simulation.ends(fault, lambda: disk.fail_reads(0))


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
    """A bit of a journal, entry log, index file or mark is another, of the only bookie that may be damaged."""
    node = simulation.bookie(fault)
    log = bit_flips.of_log(node.disk, random)
    if log is None:
        return
    kind = random.random()
    mark = bit_flips.of_mark(node.disk, random) if kind < MARKS else None
    if mark is not None and simulation.may_damage(node, noticed=True):
        node.kill()  # a bookie that runs would write the next mark in its place
        node.disk.flip_bit(*mark)
        simulation.ends(fault, node.start)
    elif mark is None and simulation.may_damage(node):
        index = bit_flips.of_index(node.disk, random) if MARKS < kind < MARKS + INDEXES else None
        node.disk.flip_bit(*(index or log))


@fault(0.5)
def misdirected_write(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A sector of an entry log has what belongs to another, of the only bookie that may be damaged.

    Not of a journal: a last group that lies elsewhere cannot be told from one that was never written.
    """
    node = simulation.bookie(fault)
    paths = [each for each in node.disk.paths() if each.endswith(".log")]
    if paths and simulation.may_damage(node):
        node.disk.misdirect(random.choice(sorted(paths)), *random.sample(range(10), 2))


@fault(1)
def vanished_directory(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A file system of a bookie is unmounted under it, or all, and mounted again later."""
    disk = simulation.bookie(fault).disk
    disk.unmount(random.choice((LEDGERS, JOURNAL, os.sep)))
    simulation.ends(fault, disk.mount)


@fault(1)
def vanished_index(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """The index files of a bookie, or its databases, are moved away while it serves, and back later.

    That is before it is started again: a bookie that starts without them cannot know that it ever had them.
    """
    node = simulation.bookie(fault)
    if node.has_served:
        node.disk.move_indexes_away()
        node.machine.on_killed.append(node.disk.mount)
        simulation.ends(fault, node.disk.mount)


@fault(0.5)
def lost_journal_file(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A bookie is killed, and a journal file between others is gone: it must not start without that."""
    node = simulation.bookie(fault)
    journals = sorted(each for each in node.disk.paths() if each.endswith(".txn"))
    if journals[1:-1] and simulation.may_damage(node, noticed=True):
        node.kill()
        node.disk.lose(journals[-2])
        simulation.ends(fault, node.start)


@fault(0.5)
def older_ledgers(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A bookie comes back with its ledgers as they were a while ago, as from a snapshot, and its journal as it is.

    It replays that from the older mark on, so it lacks nothing; or, if files of it are gone, it must not start.
    """
    snapshot = simulation.bookie(fault).disk.snapshot(LEDGERS)
    if MARK in snapshot[0]:  # without a mark nobody can tell that the first files of a journal are missing
        simulation.ends(fault, lambda: _come_back(simulation, fault, LEDGERS, snapshot))


@fault(0.5)
def zeroed_sector(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A bookie is killed, and a journal file has zeros where its first seal was: it must not start with that."""
    node = simulation.bookie(fault)
    journals = sorted(each for each in node.disk.paths() if each.endswith(".txn"))
    if journals and simulation.may_damage(node, noticed=True):
        node.kill()
        node.disk.zero(random.choice(journals[-2:]), 512, 512)
        simulation.ends(fault, node.start)


@fault(0.5)
def older_journal(simulation: "Simulation", fault: Fault, random: Random) -> None:
    """A bookie comes back with its journal as it was a while ago, and its ledgers as they are: it must not start.

    That is where the mark is behind the end of that journal: else nobody can tell that there was more.
    """
    disk = simulation.bookie(fault).disk
    snapshot = disk.snapshot(JOURNAL)
    looks = Looks()

    def look(last: bool = False) -> None:
        mark = disk.content(MARK)
        journal = disk.snapshot(JOURNAL)[0]
        if looks.over or not mark or not snapshot[0] or not is_behind(mark, snapshot[0]):
            return
        # Best while there is something behind the mark: that is what it would lack.
        if last or goes_on(mark, journal):
            looks.over = True
            _come_back(simulation, fault, JOURNAL, snapshot)

    def end() -> None:
        look(last=True)
        looks.over = True

    for number in range(1, int(fault.lasts_s / LOOK_S)):
        simulation.timeline.after(number * LOOK_S, look)
    simulation.ends(fault, end)


def _come_back(simulation: "Simulation", fault: Fault, directory: str, snapshot: Snapshot) -> None:
    """Roll back the one file system of a bookie, once: both together would look like a whole disk."""
    node, counts = simulation.bookie(fault), simulation.history.counts
    several = node.config.more_ledger_directories  # of their marks the highest counts
    if several or node.stays_down or counts.get("older disk") or not simulation.may_damage(node, noticed=True):
        return
    simulation.history.count("older disk")
    node.kill()
    node.disk.roll_back(directory, snapshot)
    node.start()

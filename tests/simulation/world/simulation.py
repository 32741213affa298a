"""One seed's world: bookies, clients, faults, and what must hold at its end."""

import gc
from collections.abc import Callable, Collection, Coroutine
from itertools import count, cycle
from random import Random
from typing import Any

from attrs import define, evolve
from twisted.logger import globalLogPublisher

from bookkeeper_tx.bookie.scrubber import Scrubber
from bookkeeper_tx.bookie.storage.entry_log_scan import Damaged
from tests.simulation.world import faults as all_faults
from tests.simulation.world import storage_classes
from tests.simulation.world.aim import Aiming
from tests.simulation.world.audit import audit, go_on, read_on
from tests.simulation.world.bookie_node import BookieNode
from tests.simulation.world.client_node import CONFIG, ClientNode
from tests.simulation.world.connection import Connection
from tests.simulation.world.exits import STORE_KINDS
from tests.simulation.world.fault import Fault
from tests.simulation.world.history import History, Records, Stuck, Violation
from tests.simulation.world.machine import Machine
from tests.simulation.world.metadata_server import MetadataServer
from tests.simulation.world.network import Network
from tests.simulation.world.patience import settled
from tests.simulation.world.temperament import Temperament
from tests.simulation.world.temperament import draw as draw_temperament
from tests.simulation.world.timeline import Timeline
from tests.simulation.world.workload import Workload

START_S = 3.0
"""In which the bookies start, and nothing goes wrong."""

WORK_S = 8.0
"""In which clients work, and things go wrong."""

PROGRESS_S = 60.0
"""So long after the end of the last fault everything has to work."""

ALONE_S = 30.0
"""For so long the store is away at last."""

AUDITOR = "10.0.2.1"
"""The client that looks at everything in the end."""

CALM_JITTER = 1.0
"""How much later than others pieces may come once all is well, in latencies."""

LOGIN_PART = 0.3
"""In how many of the worlds clients have to log in."""

STEPS_MAX = 400_000
"""A history of more steps never ends."""

_worlds = count()
"""Numbers those of this process."""


@define
class Outcome:
    """What a seed came to."""

    seed: int
    faults: list[Fault]
    violation: BaseException | None
    counts: dict[str, int]
    steps: int


class Simulation:
    """The world of one seed.  ``only`` are the numbers of the faults that happen; all if it is None."""

    def __init__(
        self, seed: int, only: Collection[int] | None = None, say: Callable[[str], None] = lambda line: None
    ) -> None:
        _leave_out_the_program()
        self.seed = seed
        random = Random(seed)
        self.timeline = Timeline()
        self.history = History()
        self.network = Network(self.timeline, Random(random.getrandbits(64)))
        self.server = MetadataServer(Random(random.getrandbits(64)))
        self.server.on_write = self.history.written
        self._refused = self.history.broken if random.random() < LOGIN_PART else None
        self.history.count("login", self._refused is not None)
        classes = storage_classes.draw(seed)
        self.bookies = [
            BookieNode(
                self.network,
                self.server,
                f"10.0.0.{number}",
                random.getrandbits(32),
                self._refused,
                each,
                self.history.broken,
            )
            for number, each in zip(range(1, random.choice((4, 5, 6)) + 1), classes, strict=False)
        ]
        databases = [each for each in self.bookies if each.config.ledger_storage_class == storage_classes.DATABASES]
        self.history.count("bookies with databases", len(databases))
        self.clients = [
            Workload(
                self._client(f"10.0.1.{number}", random.getrandbits(32), on_asyncio=number == 1),
                self.history,
                self.timeline,
                Random(random.getrandbits(64)),
                number - 1,
                START_S + WORK_S,
            )
            for number in range(1, random.choice((2, 3)) + 1)
        ]
        for machine in self.network.machines.values():
            machine.clock_offset_s = random.uniform(-1000, 1000)
        temperament = draw_temperament(Random(random.getrandbits(64)))
        self._have(temperament)
        drawn = all_faults.draw(Random(random.getrandbits(64)), random.choice((1, 2, 4, 8, 16)), WORK_S, temperament)
        self.faults = [each for number, each in enumerate(drawn) if only is None or number in only]
        self._say = say
        self._damaged: BookieNode | None = None
        self._mended = False
        """Whether all faults are over."""
        self._lacking: set[str] = set()
        """Clients that have not yet done what they have to do in the end."""
        self._endings: list[Callable[[], object]] = []
        self._aiming = Aiming(self, self._strike)
        self.history.happened = self._aiming.happened

    def run(self) -> Outcome:
        """Let it happen."""
        # What processes have left that were killed ends when it is collected, and may say so then: not in a history.
        gc.collect()
        gc.disable()
        globalLogPublisher.addObserver(self._logged)
        records = Records(self.history)
        records.begin()
        try:
            self._run()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.history.broken(error)
        finally:
            globalLogPublisher.removeObserver(self._logged)
            records.end()
            gc.enable()
        return Outcome(self.seed, self.faults, self.history.violation, self.history.counts, self.timeline.steps)

    # For faults ------------------------------------------------------------------------------------------------------

    def bookie(self, fault: Fault) -> BookieNode:
        return self.bookies[fault.target % len(self.bookies)]

    def may_damage(self, bookie: BookieNode, noticed: bool = False) -> bool:
        """Return whether what a bookie has stored may get lost: that of one bookie only.

        ``noticed``: it must be, before the bookie serves again.
        """
        if self._damaged not in (None, bookie):
            return False
        self._damaged = bookie
        self.history.damaged = bookie.bookie_id
        self.history.must_notice = noticed and not self.history.counts.get("unnoticed damage")
        if not noticed:
            self.history.count("unnoticed damage")
        self.history.count("damage")
        return True

    def machine(self, fault: Fault) -> Machine:
        machines = [*self.bookies, *(client.node for client in self.clients)]
        return machines[fault.target % len(machines)].machine

    def client_of(self, fault: Fault, random: Random) -> Workload:
        """Return the client that writes the ledger at which a fault is aimed, mostly; any if there is none."""
        if fault.ledger_id is not None and (fault.party is not None or random.random() < 0.8):
            writer = self.history.of(fault.ledger_id).writer
            return self.clients[writer if fault.party != "other" else (writer + 1) % len(self.clients)]
        return random.choice(self.clients)

    def clients_of(self, fault: Fault, random: Random, count: int) -> list[Workload]:
        """Return that which a fault has chosen, else ``count`` clients."""
        return random.sample(self.clients, count) if fault.party is None else [self.client_of(fault, random)]

    def connections(self, fault: Fault, random: Random) -> list[Connection]:
        """Return connections of a bookie: those of one client, or all."""
        bookie = self.bookie(fault).machine.address
        chosen = self.clients_of(fault, random, random.choice((1, len(self.clients))))
        return [each for client in chosen for each in self.network.between(bookie, client.node.machine.address)]

    def ends(self, fault: Fault, end: Callable[[], object]) -> None:
        """Have ``end`` called when the fault is over, at the latest when all are."""
        self._endings.append(end)
        self.timeline.after(fault.lasts_s, end)

    def restart_client(self, fault: Fault) -> None:
        client = self.clients[fault.target % len(self.clients)]
        client.kill()
        self.timeline.after(0.1, client.begin)

    # What happens ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        for bookie in self.bookies:
            bookie.start()
        self._pass(START_S)
        for client in self.clients:
            client.begin()
        for each in self.faults:
            self.timeline.at(START_S + each.at_s, self._make, each)
        self._pass(START_S + WORK_S)
        self._mend()
        settled_s, end_s = settled(CONFIG), self.timeline.now + PROGRESS_S
        for client in self.clients:
            if client.node.is_up:
                self._begin(client.node, go_on, end_s)
        if not self._pass(self.timeline.now + settled_s, lambda: not self.history.under_way):
            raise Stuck(f"{settled_s:.0f} s after all faults this has not ended: {sorted(self.history.under_way)[:5]}")
        self._audit(end_s)
        if not self._pass(end_s, lambda: not self._lacking and not self._not_writable()):
            lacking = f"{sorted(self._lacking)} have not done all, {self._not_writable()} are not writable"
            raise Stuck(f"{PROGRESS_S:.0f} s after all faults {lacking}")
        self._take_the_store_away()

    def _client(self, address: str, seed: int, on_asyncio: bool) -> ClientNode:
        return ClientNode(self.network, self.server, address, seed, on_asyncio, self._refused)

    def _have(self, temperament: Temperament) -> None:
        self.network.jitter = temperament.jitter
        self.server.session_s = temperament.session_s
        self.server.slow_s = temperament.store_s
        for bookie, job_s in zip(self.bookies, cycle(temperament.jobs_s), strict=False):
            bookie.job_s = job_s
        for client in self.clients:
            client.quorums = temperament.quorums
            client.node.config = evolve(client.node.config, add_timeout_s=temperament.add_timeout_s)

    def _make(self, each: Fault) -> None:
        if each.aim is None:
            self._strike(each)
        else:
            self._aiming.wait(each)

    def _strike(self, each: Fault) -> None:
        if self._mended:
            return
        on_client = self.machine(each) not in [bookie.machine for bookie in self.bookies]
        if each.kind not in all_faults.HARMLESS or (each.kind == "late turn" and not on_client):
            self.history.troubled = True
        self._say(str(each))
        for bookie in self.bookies if each.kind in STORE_KINDS else [self.bookie(each)]:
            bookie.struck.add(each.kind)
        all_faults.KINDS[each.kind](self, each, Random(each.seed))
        self.history.count("faults")

    def _mend(self) -> None:
        """End all faults."""
        self._mended = True
        for end in self._endings:
            end()
        self.server.away_until = 0.0
        for machine in self.network.machines.values():
            if machine.paused_until > self.timeline.now:
                machine.pause(0)
        for bookie in self.bookies:
            disk = bookie.disk
            disk.stalled_until, disk.capacity, disk.crash_at = 0.0, None, None
            disk.fail_writes(0)
            disk.fail_syncs(0)
            disk.fail_opens(0)
            disk.mount()
            bookie.start()

    def _audit(self, end_s: float) -> None:
        """Have a new client look at everything."""
        self.history.lost_power = {each.bookie_id for each in self.bookies if each.lost_power}
        # It asks each bookie for each ledger, one after the other.
        self.network.jitter = CALM_JITTER
        auditor = self._client(AUDITOR, self.seed, on_asyncio=self.seed % 2 == 1)
        auditor.start()
        self._begin(auditor, audit, end_s)

    def _take_the_store_away(self) -> None:
        """Have clients read on while it is away, by new connections to the bookies that they know."""
        # One that is registered may still be about to start: by its former process, or with no answer yet.
        whole = [each for each in self.bookies if each.bookie_id != self.history.damaged]
        if not self._pass(self.timeline.now + ALONE_S, lambda: all(each.has_served for each in whole)):
            raise Stuck(f"{ALONE_S:.0f} s after all bookies were registered some do not serve")
        end_s = self.server.away_until = self.timeline.now + ALONE_S
        self.history.troubled = True
        for bookie in self.bookies:
            bookie.struck.add("store away")
        for node in [client.node for client in self.clients if client.node.kept is not None]:
            for bookie in self.bookies:
                for connection in self.network.between(bookie.machine.address, node.machine.address):
                    connection.break_now()
            self._begin(node, read_on, end_s)
        if not self._pass(end_s, lambda: not self._lacking):
            raise Stuck(f"{ALONE_S:.0f} s without the store {sorted(self._lacking)} could not read what they know")

    def _begin(
        self, node: ClientNode, task: Callable[[ClientNode, History, float], Coroutine[Any, Any, None]], end_s: float
    ) -> None:
        """Begin what a client has to have done by then."""

        def ended(error: Exception | None, _: None) -> None:
            if error is None:
                self._lacking.discard(node.machine.address)
            else:
                self.history.broken(error)

        self._lacking.add(node.machine.address)
        node.machine.post(self.timeline.now, lambda: node.run(task(node, self.history, end_s), ended))

    def _not_writable(self) -> list[str]:
        """Return the bookies that nobody may choose for a new ledger, though nothing is wrong with their disks."""
        writable = {each for each, registered in self.server.bookies.items() if not registered.read_only}
        whole = {each.bookie_id for each in self.bookies if each.bookie_id != self.history.damaged}
        return sorted(whole - writable)

    def _pass(self, end_s: float, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass; return whether ``until()`` has come."""
        history, timeline = self.history, self.timeline

        def over() -> bool:  # asked at each step
            return history.violation is not None or timeline.steps > STEPS_MAX

        timeline.run(end_s, over if until is None else lambda: until() or over())
        if self.history.violation is not None:
            raise self.history.violation
        if self.timeline.steps > STEPS_MAX:
            raise Stuck("there is no end")
        return until is not None and until()

    def _logged(self, event: Any) -> None:
        self.history.surprised(event)
        if event.get("log_namespace") == Scrubber.__module__ and "text" in event:
            if self._damaged is None and all(bookie.disk.is_whole for bookie in self.bookies):
                self.history.broken(Violation(f"nothing was damaged: {event['text']}"))
            self.history.count("scrubber's findings")
        if isinstance(event.get("error"), Damaged):
            if self._damaged is None:
                self.history.broken(Violation(f"nothing was damaged: {event['error']}"))
            self.history.count("damaged logs")


def _leave_out_the_program() -> None:
    """Have the collector leave out what there is besides the worlds, which is most of what it would look at.

    That is known at the second one: the first has imported what is imported late.
    """
    if next(_worlds) == 1:
        gc.collect()
        gc.freeze()

"""A bookie of the simulation: the whole service, on a disk and a network of its own world."""

from collections.abc import Callable
from random import Random
from typing import Any

from attrs import evolve

from bookkeeper_tx.bookie.listening import Address
from bookkeeper_tx.bookie.service import BookieService
from bookkeeper_tx.config import BookieConfig
from tests.simulation.world import login
from tests.simulation.world.disk import FaultyDisk
from tests.simulation.world.exits import Stage, check_exit
from tests.simulation.world.history import Violation
from tests.simulation.world.login import Refused
from tests.simulation.world.memory import look_at_bookie
from tests.simulation.world.metadata_server import MetadataServer
from tests.simulation.world.network import Network
from tests.simulation.world.storage_classes import INDEX_FILES
from tests.simulation.world.store_session import StoreSession
from tests.simulation.world.threads import MachineThreads

PORT = 3181

JOURNAL, LEDGERS = "/journal", "/ledgers"
"""Directories of two file systems."""

RESTART_S = 1.0
"""After so long a bookie that ended by itself is started again, as a service manager does."""

SCRUB_INTERVAL_S = 1.0

LITTLE_PAGE: Any = 0.05
"""Less than a page of locations, which have few of them here: then one is in memory, and the others are read."""

LITTLE_MEMORY = {
    "connection_requests_bytes_max": 20_000,
    "held_bytes_per_connection_max": 10_000,
    "held_bytes_max": 20_000,
    "reads_bytes_per_connection_max": 10_000,
    "reads_bytes_max": 200_000,
}
"""Budgets of which a short history needs more than all."""


class _Listening:
    """The socket of a bookie, before it listens."""

    family = 0

    def listen(self, backlog: int) -> None: ...

    def fileno(self) -> int:
        return -1

    def close(self) -> None: ...


def config_of(address: str, random: Random) -> BookieConfig:
    """Return a configuration of which a short history rolls files, flushes and evicts."""
    return BookieConfig(
        metadata_uri="sqlite:///simulated",
        journal_directory=JOURNAL,
        ledger_directory=LEDGERS,
        listen=address,
        port=PORT,
        journal_size_bytes_max=random.choice((4096, 65536)),
        journal_preallocation_bytes=4096,
        journal_backups_max=random.choice((0, 1)),
        write_cache_bytes_max=random.choice((6_000, 50_000)),
        read_cache_bytes_max=4000,
        entry_log_bytes_max=random.choice((6000, 100_000)),
        index_pages_max=random.choice((LITTLE_PAGE, 100)),
        open_index_files_max=random.choice((1, 4)),
        flush_interval_s=random.choice((0.2, 2.0)),
        disk_check_interval_s=random.choice((2.0, 10.0)),
        gc_wait_s=3.0,
        gc_overreplicated_wait_s=7.0,
        minor_compaction_interval_s=5.0,
        major_compaction_interval_s=10.0,
        major_compaction_threshold=0.95,
        compaction_rate_entries=1_000_000,
        wire_compat=random.choice(("", "", "4.16")),
        # Little memory, or as much as the defaults are.
        **random.choice((LITTLE_MEMORY, {})),
    )


class BookieNode:
    """A bookie that can be started, stopped and killed.  Clients have to log in if there is ``refused``.

    ``broken`` is told when the bookie has ended by itself for a reason that it must not have.
    """

    def __init__(
        self,
        network: Network,
        server: MetadataServer,
        address: str,
        seed: int,
        refused: Refused | None = None,
        storage_class: str = INDEX_FILES,
        broken: Callable[[Violation], None] = lambda violation: None,
    ) -> None:
        self.machine = network.machine(address)
        self.machine.on_exit = self._exited
        self.machine.on_step = self._look_at_memory
        self.disk = FaultyDisk(seed)
        self.disk.on_crash = self._power_failed
        self.random = Random(seed)
        self._choose = Random(seed).choice
        """Picks one of several directories."""
        self._chance = Random(seed).random
        """Decides when it scrubs."""
        self.bookie_id = f"{address}:{PORT}"
        self.config = evolve(config_of(address, self.random), ledger_storage_class=storage_class)
        if storage_class != INDEX_FILES:  # the others are as they were before there was a scrubber
            self.config = evolve(self.config, local_scrub_interval_s=SCRUB_INTERVAL_S, local_scrub_rate=0.0)
        if refused is not None:
            self.config = evolve(self.config, auth=login.of_bookie(self.random, refused))
        self.service: BookieService | None = None
        self.session: StoreSession | None = None
        self.job_s = 0.0
        """About how long a job of a thread takes."""
        self.struck: set[str] = set()
        """The kinds of faults that have struck at it."""
        self.stays_down = False
        self.lost_power = False
        """Whether it has lost what was not synced, at least once."""
        self._network = network
        self._server = server
        self._broken = broken
        self._said: list[str] = []
        """Why the process that is up, or was, cannot go on."""
        self._told_to_stop = False
        self._began_read_only = False
        self._served_before = False
        """Whether an earlier process has come to serve."""

    @property
    def is_up(self) -> bool:
        return self.machine.reactor is not None

    @property
    def has_served(self) -> bool:
        """Whether the process that is up has come to serve clients."""
        return self.is_up and self._came_to_serve

    @property
    def _came_to_serve(self) -> bool:
        """Whether the process that is up, or was, has come to serve."""
        return self.service is not None and self.service.address is not None

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self.is_up or self.stays_down:
            return
        self._served_before |= self._came_to_serve
        if self.disk.crashed:
            self.disk.restart()
        self._began_read_only = self.disk.read_only
        reactor = self.machine.begin(self._network)
        self.session = StoreSession(self.machine, self._server)
        self._said = []
        self._told_to_stop = False
        self.service = BookieService(
            self.config,
            reactor,
            self.disk,
            tell=lambda line: None,
            tell_error=self._said.append,
            store=self.session,
            bind=self._bind,
            make_threads=self._make_threads,
            clock=lambda: self.machine.clock,
            salt=self.random.randbytes,
            choose=self._choose,
            chance=self._chance,
        )
        reactor.shut_down = self.service.stopService
        self.service.startService()

    def kill(self) -> None:
        """End the process; what it has written stays."""
        if self.is_up:
            self.machine.kill()
            self.disk.process_ended()

    def stop(self) -> None:
        """Stop the service as it should be."""
        if self.machine.reactor is not None and self.machine.reactor.running:
            self._told_to_stop = True
            self.machine.reactor.stop()

    def mount_again(self) -> None:
        """Have a disk that can be written again, and, as the guide says, a bookie that knows it."""
        self.disk.read_only = False
        if self._began_read_only:
            self.stop()

    def fail_power(self) -> None:
        """Lose what was not synced, and the process."""
        if not self.disk.crashed:
            self.disk.crash()

    def _look_at_memory(self) -> None:
        if self.service is not None:
            look_at_bookie(self.bookie_id, self.service.memory())

    def _power_failed(self) -> None:
        self.lost_power = True
        # In the middle of a disk operation: the process is gone as soon as that is over.
        self._network.timeline.after(0, self._die, self.machine.life)

    def _die(self, life: int) -> None:
        if self.machine.life == life and self.is_up:
            self.machine.kill()

    def _exited(self) -> None:
        # Only a start that has found the disk read-only knows: else it may still have a torn group to cut off.
        knows = self._began_read_only or not self.disk.read_only
        started = Stage.STARTING if self._served_before and knows else Stage.NEW
        stage = Stage.SERVING if self._came_to_serve else started
        try:
            check_exit(self.bookie_id, self._said, stage, self.struck, self._told_to_stop)
        except Violation as violation:
            self._broken(violation)
        self.disk.process_ended()
        self._network.timeline.after(RESTART_S, self.start)

    def _bind(self, config: BookieConfig, former_id: str | None) -> Address:
        listening: Any = _Listening()
        return Address(listening, config.listen, config.port, self.bookie_id)

    def _make_threads(self, reactor: Any, name: str, count: int) -> Any:
        return MachineThreads(self.machine, self.disk, self.random, count, self.job_s)

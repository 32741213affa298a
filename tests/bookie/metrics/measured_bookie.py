"""A bookie in memory whose metrics are looked at: real journal, storage and operations, time moved by hand."""

import re
from collections.abc import Sequence
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.bookie import Bookie, Workers
from bookkeeper_tx.bookie.metrics.budgets import BudgetMetrics
from bookkeeper_tx.bookie.metrics.metrics import Metrics
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.protocol.bookie.v2 import AddRequests, ReadRequests
from bookkeeper_tx.transport.client_budget import ClientBudget
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, new_disk
from tests.bookie.seams import KEY, LEDGER, Client, run_of
from tests.bookie.workers import InlineWorker
from tests.conftest import result_of

CONFIG = BookieConfig(metadata_uri="", journal_directory=DIRECTORY, ledger_directory=DIRECTORY)
_SAMPLE = re.compile(r"(?P<name>[\w:]+)(\{(?P<labels>.*)\})? (?P<value>\S+)")


class WaitingWorker(InlineWorker):
    """A worker with jobs that wait."""

    waiting_count = 3


class MeasuredBookie:
    """A bookie that serves, and its metrics."""

    def __init__(
        self,
        disk: CrashingDisk | None = None,
        more_ledgers: Sequence[str] = (),
        indexes: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        self.clock = Clock()
        self.metrics = Metrics(self.clock.seconds)
        workers = Workers(InlineWorker(), InlineWorker(), InlineWorker())
        config = evolve(CONFIG, **settings)
        self.disk = disk or new_disk()
        for path in (*more_ledgers, *indexes):
            self.disk.make_directories(path)
        self.bookie = Bookie(
            self.disk,
            DIRECTORY,
            DIRECTORY,
            config,
            self.clock,
            workers,
            on_fatal=lambda error: None,
            measured=self.metrics.measured,
            more_ledgers=more_ledgers,
            indexes=indexes,
            seconds=self.clock.seconds,
        )
        self.metrics.watch(self.bookie.parts, {"read": WaitingWorker()}, 2, config.connection_requests_bytes_max)
        self.metrics.registry.register(BudgetMetrics(self.bookie.dispatch.memory, ClientBudget()))
        result_of(Deferred.fromCoroutine(self.bookie.start()))
        self.metrics.is_serving = lambda: True

    def ask(self, request: Any) -> bytes:
        """Serve a request and return the reply."""
        client: Any = Client()
        self.bookie.dispatch.serve(request, client)
        return b"".join(bytes(part) for part in client.take())

    def add(self, first: int, *sizes: int, key: bytes = KEY) -> bytes:
        """Add a run of entries."""
        return self.ask(AddRequests(0x02010000, key, run_of(first, *sizes)))

    def read(self, *entry_ids: int) -> bytes:
        """Read entries one by one, in one run of requests."""
        return self.ask(ReadRequests(0x02020000, LEDGER, entry_ids, None))

    def samples(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Return all values by name and labels."""
        return samples_in(self.metrics.text())

    def value(self, name: str, **labels: str) -> float:
        """Return the value of the only sample with this name that has these labels."""
        (found,) = [
            value
            for (each, of_each), value in self.samples().items()
            if each == name and labels.items() <= dict(of_each).items()
        ]
        return found


def samples_in(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Parse Prometheus' text format; a sample that comes twice, or a line that is none, fails."""
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample is not None, line
        labels = frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample["labels"] or ""))
        assert (sample["name"], labels) not in found, line
        found[sample["name"], labels] = float(sample["value"])
    return found

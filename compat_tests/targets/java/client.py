"""The real Java client of any locked release, as a Python object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

import attrs

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.driver_process import DriverEnded, DriverProcess, JavaError, Reply
from compat_tests.targets.java.ledger import JavaLedger

__all__ = ["DriverEnded", "JavaClient", "JavaError", "JavaLedger", "JavaLedgerMetadata"]


@attrs.frozen
class JavaLedgerMetadata:
    """Ledger metadata as the Java client understood it."""

    format_version: int
    ensemble: int
    write: int
    ack: int
    state: str
    """``OPEN``, ``IN_RECOVERY`` or ``CLOSED``."""
    last_entry: int
    """-1 for a ledger that is empty or not closed."""
    length: int
    """Bytes, of a closed ledger."""
    digest: str
    ctime_ms: int
    fragments: dict[int, list[str]]
    """First entry of a fragment to the ids of its bookies."""
    custom: dict[str, bytes]


def parse_metadata(reply: Reply) -> JavaLedgerMetadata:
    """Read the driver's description of a ledger's metadata."""
    fragments = {}
    for fragment in filter(None, reply["fragments"].split(";")):
        first, _, ensemble = fragment.partition(":")
        fragments[int(first)] = ensemble.split(",")
    numbers = ("format_version", "ensemble", "write", "ack", "last_entry", "length", "ctime_ms")
    prefix = "custom."
    return JavaLedgerMetadata(
        state=reply["state"],
        digest=reply["digest"],
        fragments=fragments,
        custom={name[len(prefix) :]: bytes.fromhex(reply[name]) for name in reply if name.startswith(prefix)},
        **{name: int(reply[name]) for name in numbers},
    )


class JavaClient:
    """One Java client in a process of its own; a context manager, or ``start()`` and ``stop()``.

    :param release: one of :data:`compat_tests.targets.lockfile.RELEASES`
    :param cluster: whose metadata it uses
    :param work_dir: for its log
    :param v2: Java's ``useV2WireProtocol``; batch read needs it
    :param settings: further keys of Java's ``ClientConfiguration``
    :param properties: system properties of its JVM
    :param more_jars: behind the release's own on its class path

    Every method waits at most ``timeout_s`` (60 seconds) for its answer and raises :class:`JavaError` for an exception
    in Java, :class:`TimeoutError` for none, :class:`DriverEnded` if the process went away.
    """

    def __init__(
        self,
        release: str,
        cluster: Cluster,
        work_dir: Path,
        *,
        v2: bool = False,
        settings: Mapping[str, object] | None = None,
        properties: Mapping[str, object] | None = None,
        timeout_s: float = 60,
        heap_mb: int = 256,
        more_jars: Sequence[Path] = (),
    ) -> None:
        self.release = release
        self.cluster = cluster
        self.work_dir = work_dir
        self.v2 = v2
        self.settings = dict(settings or {})
        self.properties = dict(properties or {})
        self.timeout_s = timeout_s
        self.heap_mb = heap_mb
        self.more_jars = tuple(more_jars)
        self._driver: DriverProcess | None = None

    @property
    def driver(self) -> DriverProcess:
        """The process, for requests that this class has no method for."""
        if self._driver is None:
            raise RuntimeError("the Java client was not started")
        return self._driver

    def start(self) -> JavaClient:
        """Start the process and connect the client to the metadata store."""
        self._driver = DriverProcess(self.release, self.work_dir, self.heap_mb, self.properties, self.more_jars)
        values = {f"set.{key}": value for key, value in self.settings.items()}
        self._driver.submit_values("connect", {"uri": self.cluster.uri, "v2": self.v2, **values}).result(self.timeout_s)
        return self

    def disconnect(self) -> None:
        """Close the client in order, which takes Java two seconds. Open ledgers stay open."""
        self.call("disconnect")

    def stop(self) -> None:
        """End the process without closing anything."""
        if self._driver is not None:
            self._driver.end()

    def kill(self) -> None:
        """End the process with SIGKILL, as when a writer is lost."""
        self.driver.kill()

    def call(self, verb: str, timeout_s: float | None = None, **values: object) -> Reply:
        """Send any request of the driver and wait for its values."""
        return self.driver.submit_values(verb, values).result(timeout_s or self.timeout_s)

    def submit(self, verb: str, **values: object) -> Future[Reply]:
        """Send any request and do not wait."""
        return self.driver.submit_values(verb, values)

    def create_ledger(
        self,
        ensemble: int = 1,
        write: int = 1,
        ack: int = 1,
        *,
        digest: str = "CRC32C",
        password: bytes = b"",
        custom: Mapping[str, bytes] | None = None,
        ledger_id: int | None = None,
        explicit_ids: bool = False,
        deferred_sync: bool = False,
    ) -> JavaLedger:
        """Create a ledger; with a ``ledger_id`` or ``explicit_ids`` the writer gives the ids of its entries."""
        values: dict[str, Any] = {
            "ensemble": ensemble,
            "write": write,
            "ack": ack,
            "digest": digest,
            "password": password,
            "ledger": ledger_id,
            "explicit_ids": explicit_ids,
            "deferred_sync": deferred_sync,
        }
        values.update({f"custom.{name}": value for name, value in (custom or {}).items()})
        return self._ledger_of(self.call("create", **values))

    def open_ledger(
        self, ledger_id: int, *, digest: str = "CRC32C", password: bytes = b"", recovery: bool = True
    ) -> JavaLedger:
        """Open a ledger: with recovery it is fenced and closed first, without it may still be written to."""
        return self._ledger_of(self.call("open", ledger=ledger_id, digest=digest, password=password, recovery=recovery))

    def delete_ledger(self, ledger_id: int) -> None:
        """Remove a ledger's metadata; bookies collect its entries later."""
        self.call("delete", ledger=ledger_id)

    def ledgers(self) -> list[int]:
        """The ids of all ledgers."""
        return [int(text) for text in self.call("ledgers")["ledgers"].split(",") if text]

    def bookies(self) -> dict[str, tuple[int, int]]:
        """Free and total bytes by bookie id: asks each bookie (V3, get bookie info)."""
        found = {}
        for bookie_id, text in self.call("bookies").items():
            free, total = text.split(",")
            found[bookie_id] = (int(free), int(total))
        return found

    def list_entries(self, bookie_id: str, ledger_id: int) -> bytes:
        """Which entries of a ledger a bookie stores (V3, from 4.10), as Java read and encoded the list again."""
        return bytes.fromhex(self.call("list_entries", bookie=bookie_id, ledger=ledger_id)["list"])

    def metadata(self, ledger_id: int) -> JavaLedgerMetadata:
        """A ledger's metadata from the store, as Java reads it; needs no password."""
        return parse_metadata(self.call("metadata", ledger=ledger_id))

    def _ledger_of(self, reply: Reply) -> JavaLedger:
        return JavaLedger(
            client=self,
            handle=int(reply["handle"]),
            ledger_id=int(reply["ledger"]),
            opened_at=int(reply["last_add_confirmed"]),
        )

    def __enter__(self) -> JavaClient:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()

"""A ledger that a Java client has open."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Protocol

import attrs


class DriverCalls(Protocol):
    """The calls of a Java client's driver; :class:`compat_tests.targets.java.client.JavaClient` makes them."""

    timeout_s: float

    def call(self, verb: str, timeout_s: float | None = None, **values: object) -> Mapping[str, str]:
        """Send a request and wait for its values."""

    def submit(self, verb: str, **values: object) -> Future[Mapping[str, str]]:
        """Send a request and do not wait."""


@attrs.frozen
class AppendResult:
    """The result of many adds that all succeeded."""

    first: int
    last: int
    acknowledged: int


def parse_append_result(reply: Mapping[str, str]) -> AppendResult:
    """Read the driver's answer to many adds; of failed ones, ``JavaError.fields`` holds the same values."""
    return AppendResult(int(reply["first"]), int(reply["last"]), int(reply["acknowledged"]))


@attrs.frozen(eq=False)
class JavaLedger:
    """An open ledger of a Java client; the methods wait and raise as the client's do."""

    client: DriverCalls = attrs.field(repr=False)
    handle: int
    ledger_id: int
    opened_at: int
    """The last add confirmed when it was opened: of a closed or recovered ledger, its last entry."""

    def append(self, body: bytes, *, entry: int | None = None) -> int:
        """Add one entry and give its id; ``entry`` is for a ledger whose ids the writer gives."""
        return int(self.client.call("append", handle=self.handle, body=body, entry=entry)["entry"])

    def append_many(
        self, count: int, size: int, *, seed: int = 0, index: int = 0, outstanding: int = 100
    ) -> AppendResult:
        """Add the bodies of :func:`payloads.patterns` with so many in flight; wait for all."""
        future = self.append_many_later(count, size, seed=seed, index=index, outstanding=outstanding)
        return parse_append_result(future.result(self.client.timeout_s))

    def append_many_later(
        self, count: int, size: int, *, seed: int = 0, index: int = 0, outstanding: int = 100
    ) -> Future[Mapping[str, str]]:
        """As :meth:`append_many` without waiting; read the result with :func:`parse_append_result`."""
        return self.client.submit(
            "append_pattern",
            handle=self.handle,
            count=count,
            size=size,
            seed=seed,
            index=index,
            outstanding=outstanding,
        )

    def read(self, first: int, last: int, *, unconfirmed: bool = False) -> list[bytes]:
        """The bodies of entries ``first`` to ``last``, both included; ``unconfirmed``: also past the last confirmed."""
        reply = self.client.call("read", handle=self.handle, first=first, last=last, unconfirmed=unconfirmed)
        return _bodies(reply, first)

    def read_hash(self, first: int, last: int, *, unconfirmed: bool = False) -> tuple[int, str]:
        """How many entries a read gave and their :func:`payloads.hash_of`: for long ranges."""
        reply = self.client.call(
            "read", handle=self.handle, first=first, last=last, unconfirmed=unconfirmed, hashed=True
        )
        return int(reply["count"]), reply["sha256"]

    def batch_read(
        self, start: int, count: int, size: int = 0, *, unconfirmed: bool = False, timeout_s: float | None = None
    ) -> list[bytes]:
        """Batch read (from 4.17): at most ``count`` entries and ``size`` bytes, 0 for no limit.

        A release without it raises :class:`JavaError` of name ``Unsupported``, and so does a client that does not
        speak V2.
        """
        reply = self.client.call(
            "batch_read",
            timeout_s,
            handle=self.handle,
            start=start,
            count=count,
            size=size,
            unconfirmed=unconfirmed,
        )
        return _bodies(reply, start)

    def last_add_confirmed(self) -> int:
        """The last add confirmed that the handle knows, without asking any bookie."""
        return self._last_add_confirmed("handle")

    def read_last_add_confirmed(self, how: str = "quorum") -> int:
        """Ask the bookies: ``quorum`` (all, with coverage), ``any`` (the first to answer) or ``explicit``."""
        return self._last_add_confirmed(how)

    def await_entry(self, entry: int, timeout_ms: int) -> tuple[int, bytes | None]:
        """Long poll: the last add confirmed and the entry's body once it is confirmed, ``None`` after the time."""
        reply = self.client.call("await_entry", handle=self.handle, entry=entry, timeout_ms=timeout_ms)
        return int(reply["last_add_confirmed"]), bytes.fromhex(reply["body"]) if "body" in reply else None

    def force(self) -> None:
        """Have the bookies sync what was added so far (for a ledger with deferred sync)."""
        self.client.call("force", handle=self.handle)

    def length(self) -> int:
        """The bytes of all entries, as the handle knows."""
        return int(self.client.call("length", handle=self.handle)["length"])

    def close(self) -> None:
        """Close the handle; a writer's also closes the ledger."""
        self.client.call("close", handle=self.handle)

    def _last_add_confirmed(self, source: str) -> int:
        values: dict[str, Any] = {"handle": self.handle, "from": source}
        return int(self.client.call("last_add_confirmed", **values)["entry"])


def _bodies(reply: Mapping[str, str], first: int) -> list[bytes]:
    if reply["count"] == "0":
        return []
    ids = [int(text) for text in reply["ids"].split(",")]
    if ids != list(range(first, first + len(ids))):
        raise AssertionError(f"Java gave entries {ids} for a read from {first}")
    return [bytes.fromhex(text) for text in reply["bodies"].split(",")]

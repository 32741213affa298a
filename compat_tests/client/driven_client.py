"""The client that is judged, as a case sees it: calls that a driver carries out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

import attrs

from compat_tests.client.driver_output import DriverOutput, as_text, number, numbers, octets
from compat_tests.judge.attempt import Attempt
from compat_tests.judge.verdict import Mismatch, Unsupported
from compat_tests.targets.java.driver_process import DriverEnded, JavaError, Reply
from protocol_specs.wire import entry_list

UNSUPPORTED = "Unsupported"
_NO_CODE = -999
NOT_ENOUGH_BOOKIES = -6
_LEFT_FOR_THE_VERDICT_S = 0.5
_LOOK_UP_S = 0.5
"""How often a wait looks whether the run is being stopped."""


class ClientError(Mismatch):
    """The client reports an error.  A case that expects none fails with this."""

    def __init__(self, verb: str, error: JavaError) -> None:
        super().__init__(f"{verb} by the client", "success", f"error {error.code} {error.name}: {error.message}")
        self.code = _NO_CODE if error.code is None else error.code
        """BookKeeper's client code, -999 if the error has none."""
        self.name = error.name
        self.fields = DriverOutput(verb, error.fields)


@attrs.frozen
class PendingCall:
    """A call that is under way."""

    attempt: Attempt
    verb: str
    future: Future[Reply]

    @property
    def done(self) -> bool:
        """Whether the client has answered."""
        return self.future.done()

    def result(self, timeout_s: float | None = None) -> Reply:
        """The values of the answer.  Raises ClientError for an error, Mismatch for none in time, Interrupted."""
        left = max(self.attempt.left_s() - _LEFT_FOR_THE_VERDICT_S, 0.1)
        patience = left if timeout_s is None else min(timeout_s, left)
        end = time.monotonic() + patience
        while not self.done and (more := end - time.monotonic()) > 0:
            wait([self.future], min(more, _LOOK_UP_S))
            self.attempt.left_s()  # or the run is being stopped
        if not self.done:
            raise Mismatch(f"{self.verb} by the client", f"an answer within {patience:.1f} s", "none")
        try:
            return DriverOutput(self.verb, self.future.result())
        except JavaError as error:
            if error.name == UNSUPPORTED:
                raise Unsupported(f"the client: {error.message}") from None
            raise ClientError(self.verb, error) from None
        except DriverEnded as ended:
            raise Mismatch(f"{self.verb} by the client", "an answer", f"the client's process ended: {ended}") from None

    def error(self, timeout_s: float | None = None) -> ClientError:
        """The error that the call ends with.  Raises Mismatch if it goes well."""
        try:
            values = self.result(timeout_s)
        except ClientError as error:
            return error
        raise Mismatch(f"{self.verb} by the client", "an error", f"success: {as_text(values)}")


@attrs.frozen
class Entries:
    """The result of a read."""

    ids: tuple[int, ...]
    payloads: tuple[bytes, ...]
    length: int

    @classmethod
    def of(cls, reply: Reply) -> Entries:
        ids = numbers(reply["ids"])
        bodies = [octets(text) for text in reply["bodies"].split(",")] if ids else []
        return cls(tuple(ids), tuple(bodies), number(reply.get("length", "0")))


@attrs.frozen
class Outcomes:
    """The outcomes of several appends that were sent without waiting."""

    codes: tuple[int, ...]
    """The client code of each append, 0 if it succeeded."""
    entries: tuple[int, ...]
    """The entry id of each, -1 if it failed."""
    order: tuple[int, ...]
    """Their places in the order in which they ended."""


@attrs.frozen
class Handle:
    """A ledger that the client has open."""

    client: Client
    number: int
    ledger_id: int
    opened_at: int
    """The last add confirmed that the client reported when it opened the ledger."""

    def begin(self, verb: str, **values: object) -> PendingCall:
        """Begin any call on this handle."""
        return self.client.begin(verb, handle=self.number, **values)

    def append(self, payload: bytes = b"payload", timeout_s: float | None = None) -> int:
        """Append, and give the entry's id."""
        return number(self.begin("append", body=payload).result(timeout_s)["entry"])

    def append_many(self, payloads: Sequence[bytes]) -> Outcomes:
        """Append without waiting for one another."""
        return self.outcomes(self.begin_append_many(payloads))

    def begin_append_many(self, payloads: Sequence[bytes]) -> PendingCall:
        """Begin such appends; see :meth:`outcomes`."""
        return self.begin("append_many", bodies=",".join(payload.hex() for payload in payloads))

    def outcomes(self, pending: PendingCall) -> Outcomes:
        """Wait for the outcomes of :meth:`begin_append_many`."""
        reply = pending.result()
        return Outcomes(*(tuple(numbers(reply[name])) for name in ("codes", "entries", "order")))

    def read(self, first: int, last: int, unconfirmed: bool = False) -> Entries:
        """Read a range, by any requests that the client chooses."""
        return Entries.of(self.begin("read", first=first, last=last, unconfirmed=unconfirmed).result())

    def batch_read(self, start: int, count: int, size: int = 0, unconfirmed: bool = False) -> Entries:
        """One batch read of the client's interface."""
        values = {"start": start, "count": count, "size": size, "unconfirmed": unconfirmed}
        return Entries.of(self.begin("batch_read", **values).result())

    def last_add_confirmed(self, source: str = "handle") -> int:
        """The last add confirmed: as the handle knows it, or asked from ``quorum``, ``any`` or ``explicit``."""
        return number(self.begin("last_add_confirmed", **{"from": source}).result()["entry"])

    def await_entry(self, entry_id: int, timeout_ms: int) -> tuple[int, bytes | None]:
        """Wait until an entry is confirmed: the last add confirmed then, and the payload or None."""
        reply = self.begin("await_entry", entry=entry_id, timeout_ms=timeout_ms).result()
        payload = octets(reply["body"]) if reply["found"] == "true" else None
        return number(reply["last_add_confirmed"]), payload

    def force(self) -> None:
        """Have the bookies make durable what was acknowledged."""
        self.begin("force").result()

    def length(self) -> int:
        """Payload bytes up to the last add confirmed."""
        return number(self.begin("length").result()["length"])

    def close(self) -> None:
        """Close the ledger, if this is its writer."""
        self.begin("close").result()

    def metadata(self) -> Reply:
        """The metadata as the client understands them."""
        return self.begin("metadata").result()


@attrs.frozen
class Client:
    """One client in the driver's process."""

    attempt: Attempt
    name: str
    submit: Any
    """The driver's function that sends a verb with its values, and returns a future."""

    def begin(self, verb: str, **values: object) -> PendingCall:
        """Begin any call."""
        return PendingCall(self.attempt, verb, self.submit(verb, {"client": self.name, **values}))

    def call(self, verb: str, **values: object) -> Reply:
        """Make any call."""
        return self.begin(verb, **values).result()

    def create(
        self,
        ensemble: int = 1,
        write: int | None = None,
        ack: int | None = None,
        *,
        digest: str = "CRC32C",
        password: bytes = b"",
        custom: Mapping[str, bytes] | None = None,
        **values: object,
    ) -> Handle:
        """Create a ledger; the write quorum is the ensemble if not given, the ack quorum the write quorum."""
        return self.handle_of(
            self.begin_create(ensemble, write, ack, digest=digest, password=password, custom=custom, **values)
        )

    def begin_create(
        self,
        ensemble: int = 1,
        write: int | None = None,
        ack: int | None = None,
        *,
        custom: Mapping[str, bytes] | None = None,
        digest: str = "CRC32C",
        password: bytes = b"",
        **values: object,
    ) -> PendingCall:
        """Begin to create a ledger; :meth:`handle_of` gives the handle."""
        write = ensemble if write is None else write
        named: dict[str, object] = {f"custom.{name}": value for name, value in (custom or {}).items()}
        named.update(ensemble=ensemble, write=write, ack=write if ack is None else ack)
        return self.begin("create", digest=digest, password=password, **named, **values)

    def open(
        self,
        ledger_id: int,
        *,
        recovery: bool = True,
        digest: str = "CRC32C",
        password: bytes = b"",
        timeout_s: float | None = None,
    ) -> Handle:
        """Open a ledger: with recovery it is fenced and closed first, unless it is closed."""
        pending = self.begin_open(ledger_id, recovery=recovery, digest=digest, password=password)
        return self.handle_of(pending, timeout_s)

    def begin_open(
        self, ledger_id: int, *, recovery: bool = True, digest: str = "CRC32C", password: bytes = b""
    ) -> PendingCall:
        """Begin to open a ledger; :meth:`handle_of` gives the handle."""
        return self.begin("open", ledger=ledger_id, recovery=recovery, digest=digest, password=password)

    def handle_of(self, pending: PendingCall, timeout_s: float | None = None) -> Handle:
        """The handle of a ledger that was created or opened."""
        reply = pending.result(timeout_s)
        return Handle(self, number(reply["handle"]), number(reply["ledger"]), number(reply["last_add_confirmed"]))

    def delete(self, ledger_id: int) -> None:
        """Delete a ledger."""
        self.call("delete", ledger=ledger_id)

    def ledgers(self) -> list[int]:
        """The ids of all ledgers."""
        return numbers(self.call("ledgers")["ledgers"])

    def metadata(self, ledger_id: int) -> Reply:
        """A ledger's metadata as the client understands them."""
        return self.call("metadata", ledger=ledger_id)

    def list_entries(self, ledger_id: int, bookie_id: str) -> list[int]:
        """The ids of the entries that a bookie lists."""
        reply = self.call("list_entries", ledger=ledger_id, bookie=bookie_id)
        return numbers(reply["ids"]) if "ids" in reply else _ids_in(octets(reply["list"]))

    def disconnect(self) -> None:
        """Close the client; ledgers stay as they are."""
        self.call("disconnect")


def _ids_in(data: bytes) -> list[int]:
    found: set[int] = set()
    for group in entry_list.ENTRY_LIST.parse(data).groups:
        starts = range(group.first_sequence_start, group.last_sequence_start + 1, group.sequence_period or 1)
        found.update(start + place for start in starts for place in range(group.sequence_size))
    return sorted(found)

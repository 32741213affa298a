"""Shared by the cases about reading: a ledger that is ready to be read, and a client that reads it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from compat_tests.client import client_requests as names
from compat_tests.client.client_requests import ClientRequest
from compat_tests.client.driven_client import Client, ClientError, Entries, Handle, PendingCall
from compat_tests.client.ledgers import StagedLedger
from compat_tests.client.records import CLOSED, OPEN
from compat_tests.client.rules import Action, Bookie, Exchange
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.stage import Stage
from protocol_specs import fields
from protocol_specs.metadata.bookie import BATCH_READ_V3

DIGEST_MISMATCH = (-5,)
ABSENT = (-13, -7)
"""No such entry, no such ledger."""

GIVEN_UP = ("closed by the target", "reset by the target")
"""The notes of a recording that say that the client has ended a connection."""

REFUSED = (-14, -1)
"""An argument is wrong; Java says "error while reading" for a range that is not to be read."""


@attrs.frozen
class PendingRead:
    """A read that is under way."""

    pending: PendingCall

    @property
    def done(self) -> bool:
        """Whether the client has answered."""
        return self.pending.done

    def payloads(self) -> tuple[bytes, ...]:
        """The payloads that it gives.  Raises ClientError for an error."""
        return Entries.of(self.pending.result()).payloads

    def payload(self) -> bytes:
        """The payload of a read of one entry.  Raises Mismatch for none or more, ClientError for an error."""
        found = self.payloads()
        self.pending.attempt.check("how many entries a read of one gives", len(found), 1)
        return found[0]

    def outcome(self) -> tuple[bytes, ...] | int:
        """The payloads, or the code of the error."""
        try:
            return self.payloads()
        except ClientError as error:
            return error.code


@attrs.frozen
class Reader:
    """An open ledger of the client; every call may raise ClientError."""

    stage: Stage
    handle: Handle

    @property
    def last_add_confirmed(self) -> int:
        """The last add confirmed that the client reported when it opened the ledger."""
        return self.handle.opened_at

    def read_entry(self, entry_id: int) -> bytes:
        """The payload of one entry."""
        return self.begin_read(entry_id).payload()

    def begin_read(self, entry_id: int) -> PendingRead:
        """Begin to read one entry."""
        return PendingRead(self.handle.begin("read", first=entry_id, last=entry_id))

    def read(self, first: int, last: int, unconfirmed: bool = False) -> tuple[bytes, ...]:
        """The payloads of a range."""
        return self.handle.read(first, last, unconfirmed).payloads

    def batch_read(self, start: int, count: int, size: int = 0, unconfirmed: bool = False) -> tuple[bytes, ...]:
        """The payloads of one batch."""
        return self.handle.batch_read(start, count, size, unconfirmed).payloads

    def begin_batch_read(self, start: int, count: int, size: int = 0) -> PendingRead:
        """Begin a batch read."""
        return PendingRead(self.handle.begin("batch_read", start=start, count=count, size=size))

    def read_on(self, count: int) -> tuple[bytes, ...]:
        """The payloads of all entries there are, by batches of ``count``; each has to bring one at least."""
        found: list[bytes] = []
        while len(found) <= self.last_add_confirmed:
            batch = self.batch_read(len(found), count)
            self.stage.check_that(len(batch) > 0, f"the batch from {len(found)}", "one entry at least", batch)
            found += batch
        return tuple(found)

    def fails_to_read(self, entry_id: int, *codes: int) -> int:
        """Want the read of an entry to fail with one of these codes, or any; gives the code."""
        return self.stage.expect_error(self.begin_read(entry_id).pending, *codes).code


@attrs.frozen
class ReadableLedger:
    """A ledger on the stage."""

    stage: Stage
    staged: StagedLedger
    bookies: tuple[ScriptedBookie, ...]
    late: bool = False
    """Whether the client of the stage was there before the bookies were."""

    @property
    def id(self) -> int:
        """The ledger id."""
        return self.staged.ledger_id

    @property
    def entries(self) -> tuple[bytes, ...]:
        """The sealed entries, with those after the end of the ledger."""
        return self.staged.entries

    def open(self, client: Client | None = None, password: bytes = b"") -> Reader:
        """Open it without recovery."""
        if client is None:
            # Java's client resolves no bookie before it has seen its registration, which takes a moment.
            client = self.stage.fresh_client() if self.late else self.stage.client
        return Reader(
            self.stage, client.open(self.id, recovery=False, digest=self.staged.seal.digest, password=password)
        )

    def requests(self, operation: str | None = None, **wanted: object) -> list[ClientRequest]:
        """The requests for it that its bookies got, bookie by bookie."""
        return [each for bookie in self.bookies for each in bookie.requests(operation, ledger_id=self.id, **wanted)]

    @property
    def bookies_read_from(self) -> int:
        """How many of its bookies were asked for entries, singly or in batches."""
        return sum(bool(each.requests(names.READ) or each.requests(names.BATCH_READ)) for each in self.bookies)

    def look_for_needless_reads(self, **wanted: object) -> None:
        """Tolerate reads of entries that the client then refuses: they harm nobody."""
        if self.requests(names.READ, **wanted) or self.requests(names.BATCH_READ, **wanted):
            self.stage.tolerate("the client asks bookies for what it must not return")


def readable_ledger(
    stage: Stage,
    payloads: Sequence[bytes],
    *,
    ensemble: int = 3,
    write: int | None = None,
    ack: int | None = None,
    closed: bool = True,
    stray: Sequence[bytes] = (),
    fragments: Mapping[int, int] | None = None,
    digest: str = "CRC32C",
    password: bytes = b"",
    published: bool = True,
) -> ReadableLedger:
    """Stage a ledger on bookies of its own.

    :param stray: payloads of entries that the bookies have after the end of a closed ledger
    :param published: whether the bookies publish that they serve batch reads of V3; else they publish nothing
    :param fragments: first entry to the number of bookies, for more than one
    """
    late = stage.connected
    parts: dict[int, list[ScriptedBookie]] = {}
    for first, count in (fragments or {0: ensemble}).items():
        parts[first] = stage.bookies(count, extensions=(BATCH_READ_V3,), legacy=not published)
    end: dict[str, Any] = {"last_entry": len(payloads) - 1, "length": sum(map(len, payloads))} if closed else {}
    staged = stage.ledger(
        fragments=parts,
        payloads=[*payloads, *stray],
        write=write,
        ack=ack,
        state=CLOSED if closed else OPEN,
        digest=digest,
        password=password,
        **end,
    )
    return ReadableLedger(stage, staged, tuple(bookie for each in parts.values() for bookie in each), late)


def in_turn(
    stage: Stage, ledger: ReadableLedger, operation: str, *acts: Action | None, **wanted: object
) -> list[Bookie]:
    """Answer the first request to any bookie of the ledger by the first act, the second by the second, and so on.

    None stands for an honest answer, which later requests get, too.  Gives the list of the bookies that got requests,
    in order; it grows with each.
    """
    order: list[Bookie] = []
    lock = threading.Lock()

    def act(exchange: Exchange) -> None:
        with lock:
            place = len(order)
            order.append(exchange.bookie)
        chosen = acts[place] if place < len(acts) else None
        if chosen is None:
            exchange.send(exchange.honest())
        else:
            chosen(exchange)

    stage.on_first(ledger.bookies, operation, times=None, ledger_id=ledger.id, **wanted).do(act)
    return order


def no_answer(exchange: Exchange) -> None:
    """Leave a request without a reply."""


def reply_with(**fields: object) -> Action:
    """Answer with these fields of an :class:`Answer`."""
    return lambda exchange: exchange.send(exchange.frame(**fields))


class HeldRequests:
    """Requests of a bookie that are answered honestly later, in another order."""

    def __init__(self, bookie: ScriptedBookie, operation: str, ledger_id: int) -> None:
        self._kept: list[Exchange] = []
        bookie.on(operation, ledger_id=ledger_id).do(self._kept.append)

    def wait(self, stage: Stage, count: int, timeout_s: float = 10.0) -> None:
        """Wait until so many are there."""
        stage.together(lambda: len(self._kept), count, timeout_s)

    def answer_backwards(self, together: bool = True) -> None:
        """Answer the last one first; ``together`` in one piece."""
        frames = [each.honest() for each in reversed(self._kept)]
        if together:
            self._kept[0].send(*frames)
        else:
            for each, frame in zip(reversed(self._kept), frames, strict=True):
                each.send(frame)


def cut_at(at: int, sizes: list[int]) -> Action:
    """Answer honestly in two segments; the bytes of the whole reply are noted in ``sizes``."""

    def act(ask: Exchange) -> None:
        frame = ask.honest()
        data = fields.frame_length.build(len(frame)) + frame
        sizes.append(len(data))
        ask.send_bytes(data[:at])
        time.sleep(0.001)
        ask.send_bytes(data[at:])

    return act

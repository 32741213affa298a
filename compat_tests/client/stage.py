"""The attempt of a case of the client role: scripted bookies, metadata, and the judged client.

    def a_client_asks_the_next_replica(stage: Stage) -> None:
        bookies = stage.bookies(3)
        ledger = stage.ledger(bookies, entries=4, state=CLOSED)
        stage.on_first(bookies, "read", fencing=False).answer(EIO)
        handle = stage.client.open(ledger.ledger_id)
        stage.check("the entries", handle.read(0, 3).payloads, ledger.payloads)

Each case has a ledgers root, bookies (new ports) and clients of its own; all are gone afterwards.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from compat_tests.client.driven_client import NOT_ENOUGH_BOOKIES, Client, ClientError, Handle, PendingCall
from compat_tests.client.ledgers import StagedLedger, record_of, stage_ledger
from compat_tests.client.listen_address import ListenAddress
from compat_tests.client.metadata_root import MetadataRoot, registration
from compat_tests.client.performer import Performer
from compat_tests.client.records import OPEN, LedgerRecord
from compat_tests.client.rules import Rule
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.sealing import Seal
from compat_tests.judge.attempt import Attempt, Brief
from compat_tests.judge.case import V2
from compat_tests.judge.verdict import Mismatch, Unsupported

PATIENT_MS = 6000
"""The time-outs of a client unless a case shortens them: a busy machine must not look like a silent bookie."""

IMPATIENT_MS = 1500
"""Those of a client where a bookie is silent on purpose, and the case needs no answer of another in that time."""

SILENCE_MS = 5000
"""Those of a client where one bookie is silent on purpose, and the others must have answered before they end."""

HELD_MS = 12_000
"""Those of a client whose requests are held while the case does something else: none may end before that."""

_SEEN_S = 8.0
"""How long a client may take to see which bookies are registered."""


class Stage(Attempt):
    """One case's bookies, metadata and clients; a context manager that ends them."""

    def __init__(
        self, brief: Brief, root: MetadataRoot, performer: Performer, listen: ListenAddress | None = None
    ) -> None:
        super().__init__(brief)
        self._listen_address = listen or ListenAddress()
        self.root = root
        self._performer = performer
        self._bookies: list[ScriptedBookie] = []
        self._registered: list[ScriptedBookie] = []
        self._clients: list[Client] = []
        self._client: Client | None = None

    # Bookies ---------------------------------------------------------------------------------------------------------

    def bookies(
        self, count: int, *, extensions: Sequence[str] = (), legacy: bool = False, registered: bool = True
    ) -> list[ScriptedBookie]:
        """New honest bookies, registered all at once.

        ``extensions`` are what they publish; ``legacy`` ones publish nothing, as up to 4.9.  Those that are not
        ``registered`` can be in ledgers, but no client chooses them.
        """
        first = len(self._bookies) + 1
        for place in range(count):
            name, place_to_be = f"bookie {first + place}", self._listen_address
            self._bookies.append(ScriptedBookie(name, self.recording, place_to_be.host, place_to_be.ports()))
        new = self._bookies[first - 1 :]
        if registered:
            self.register(*new, extensions=extensions, legacy=legacy)
        return new

    def register(self, *bookies: ScriptedBookie, extensions: Sequence[str] = (), legacy: bool = False) -> None:
        """Register bookies; see :meth:`bookies`."""
        data = [b"" if legacy else registration(each.host, each.port, extensions) for each in bookies]
        self._registered += bookies
        self.root.register(*((each.bookie_id, node) for each, node in zip(bookies, data, strict=True)))

    def unregister(self, bookie: ScriptedBookie) -> None:
        """Remove a registration, as when its session ends: no client chooses the bookie, but ledgers still name it."""
        self._registered.remove(bookie)
        self.root.unregister(bookie.bookie_id)

    def on_first(
        self, bookies: Sequence[ScriptedBookie], operation: str, *, times: int | None = 1, **wanted: Any
    ) -> Rule:
        """One rule for whichever of the bookies is asked first: clients order replicas as they like."""
        rule = Rule(operation, wanted, 1, times)
        for bookie in bookies:
            bookie.put(rule)
        return rule

    def on_all(self, bookies: Sequence[ScriptedBookie], operation: str | None = None, **wanted: Any) -> Rule:
        """One rule for all requests of a kind to all these bookies."""
        rule = Rule(operation, wanted)
        for bookie in bookies:
            bookie.put(rule)
        return rule

    def bookie(self, bookie_id: str) -> ScriptedBookie:
        """The bookie of this id."""
        return next(each for each in self._bookies if each.bookie_id == bookie_id)

    # Ledgers ---------------------------------------------------------------------------------------------------------

    def ledger(
        self,
        bookies: Sequence[ScriptedBookie] = (),
        *,
        entries: int = 0,
        payloads: Sequence[bytes] | None = None,
        fragments: Mapping[int, Sequence[ScriptedBookie]] | None = None,
        write: int | None = None,
        ack: int | None = None,
        state: str = OPEN,
        digest: str = "CRC32C",
        password: bytes = b"",
        lag: int = 1,
        ledger_id: int | None = None,
        **record: object,
    ) -> StagedLedger:
        """Stage a ledger: its entries on the bookies of their write sets, its record in the metadata.

        ``fragments`` (first entry to bookies) instead of ``bookies`` for more than one; ``lag`` is how far behind
        each entry the last add confirmed in it is; ``record`` are further fields of :class:`.LedgerRecord`, as
        ``custom`` or ``format_version``.
        """
        parts = fragments or {0: bookies}
        write = len(next(iter(parts.values()))) if write is None else write
        if payloads is None:
            payloads = [b"entry %d" % number for number in range(entries)]
        ledger_id = self.new_ledger() if ledger_id is None else ledger_id
        staged = stage_ledger(ledger_id, parts, payloads, Seal(digest, password), write, lag)
        self.root.write(staged.ledger_id, record_of(staged, write if ack is None else ack, state, **record))
        return staged

    def metadata(self, ledger_id: int) -> LedgerRecord:
        """The record of a ledger as it is now; ``stage.root`` can do more with it."""
        return self.root.read(ledger_id)

    # The client ------------------------------------------------------------------------------------------------------

    @property
    def client(self) -> Client:
        """A client with patient time-outs, connected when it is first asked for."""
        if self._client is None:
            self._client = self.fresh_client()
        return self._client

    @property
    def connected(self) -> bool:
        """Whether :attr:`client` is there already: then it may not know yet of bookies that are registered now."""
        return self._client is not None

    def fresh_client(self, **settings: object) -> Client:
        """Another client, in the same version; settings as ``read_timeout_ms``, see docs/conformance/driver.md."""
        name = self._performer.new_name()
        client = Client(self, name, self._performer.submit)
        self._clients.append(client)
        wanted = {"read_timeout_ms": PATIENT_MS, "add_timeout_ms": PATIENT_MS, **settings}
        client.call("connect", uri=self.root.uri, v2=self.dialect == V2, **wanted)
        return client

    def impatient_client(self, timeout_ms: int = IMPATIENT_MS, **settings: object) -> Client:
        """One with shorter time-outs, for cases of silence; Java counts whole seconds."""
        return self.fresh_client(read_timeout_ms=timeout_ms, add_timeout_ms=timeout_ms, **settings)

    def held_client(self) -> Client:
        """One that goes on waiting for its replies while the case does something else."""
        return self.impatient_client(HELD_MS)

    def new_writer(
        self,
        bookies: Sequence[ScriptedBookie],
        *,
        write: int | None = None,
        ack: int | None = None,
        client: Client | None = None,
        **values: Any,
    ) -> Handle:
        """A ledger that the client has created on exactly these bookies: all that are registered.

        A client takes a moment to see which bookies are registered, so this may take more than one ledger.
        """
        wanted = {each.bookie_id for each in bookies}
        end = time.monotonic() + _SEEN_S
        while True:
            try:
                handle = (client or self.client).create(len(bookies), write, ack, **values)
                found = set(self.metadata(handle.ledger_id).fragments[0])
                if found == wanted:
                    return handle
                wrong = Mismatch("the ensemble of a new ledger", str(sorted(wanted)), str(sorted(found)))
            except ClientError as error:
                if error.code != NOT_ENOUGH_BOOKIES:
                    raise
                wrong = error
            if time.monotonic() > end:
                raise wrong
            self.wait(0.02)

    def settle(self, client: Client | None = None) -> None:
        """Wait until the client sees exactly the bookies that are registered, by making ledgers on all of them."""
        self.root.delete(self.new_writer(self._registered, client=client).ledger_id)

    def ensemble(self, ledger_id: int, first: int = 0) -> list[ScriptedBookie]:
        """The bookies of the fragment that starts at ``first``, in their places."""
        return [self.bookie(each) for each in self.metadata(ledger_id).fragments[first]]

    def together(self, arrived: Callable[[], int], count: int, timeout_s: float = 10.0) -> None:
        """Wait until so many requests have arrived, none of which is answered.

        A client need not send one before another is answered; then the case cannot be tried on it.
        """
        try:
            self.wait_until(lambda: arrived() >= count, f"{count} requests under way at once", timeout_s)
        except Mismatch:
            if found := arrived():
                raise Unsupported(f"the client has only {found} of {count} requests under way at once") from None
            raise

    def expect_error(
        self, call: Callable[[], object] | PendingCall, *codes: int, timeout_s: float | None = None
    ) -> ClientError:
        """Require that a call fails with one of these client codes, or with any if none is given."""
        error = _error_of(call, timeout_s)
        if codes and error.code not in codes:
            raise Mismatch(f"the error: {error.what}", " or ".join(map(str, codes)), error.seen)
        return error

    # -----------------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for client in self._clients:
            # Nobody waits for it: Java takes two seconds to close a client.
            with contextlib.suppress(Exception):
                client.begin("disconnect")
        for bookie in self._bookies:
            bookie.end()
        troubles = [trouble for bookie in self._bookies for trouble in bookie.troubles]
        if troubles:
            raise RuntimeError(f"a rule of a scripted bookie failed:\n{troubles[0]}")


def _error_of(call: Callable[[], object] | PendingCall, timeout_s: float | None) -> ClientError:
    if isinstance(call, PendingCall):
        return call.error(timeout_s)
    try:
        value = call()
    except ClientError as error:
        return error
    raise Mismatch("a call of the client", "an error", f"success: {value}")

"""A bookie that answers by the rules of a case, and honestly where it has none; it has a port of its own."""

from __future__ import annotations

import contextlib
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from compat_tests.client import client_requests as names
from compat_tests.client.answers import Answer
from compat_tests.client.bookie_connection import BookieConnection
from compat_tests.client.client_requests import ClientRequest
from compat_tests.client.entry_store import EntryStore, StoredLedger
from compat_tests.client.rules import HELD_S, Rule
from compat_tests.judge.recording import Recording
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.unavailable import Unavailable

_BACKLOG = 64


class ScriptedBookie:
    """One bookie.

    It keeps entries in ``store`` and all requests in ``requests()``; its rules come before an honest answer.
    """

    def __init__(self, name: str, recording: Recording, host: str = "127.0.0.1", ports: Sequence[int] = (0,)) -> None:
        self.name = name
        self.host = host
        self.store = EntryStore()
        """What it has been given, and not refused."""
        self.troubles: list[str] = []
        """Tracebacks from its own rules, which are no fault of the client."""
        self.tls: ssl.SSLContext | None = None
        """With it the bookie agrees to START_TLS, and goes on inside TLS; see ``compat_tests.wire.tls``."""
        self.certificates: list[bytes | None] = []
        """The certificates that clients have shown in their TLS handshakes, DER."""
        self.lock = threading.RLock()
        self.recording = recording
        self._rules: list[Rule] = []
        self._requests: list[ClientRequest] = []
        self._arrived = threading.Condition()
        self._connections: list[BookieConnection] = []
        self._connection_count = 0
        self._timers: list[threading.Timer] = []
        self._polls: list[Callable[[], None]] = []
        self._closed = False
        self._listener: socket.socket | None = None
        self._held: socket.socket | None = None
        self.port = 0
        self._take_one_of(ports)

    @property
    def bookie_id(self) -> str:
        """The id under which it is registered."""
        return f"{self.host}:{self.port}"

    # Rules, requests and ledgers -------------------------------------------------------------------------------------

    def on(self, operation: str | None = None, *, nth: int = 1, times: int | None = None, **wanted: Any) -> Rule:
        """A rule for requests of this operation whose fields have these values; say next what to do."""
        return self.put(Rule(operation, wanted, nth, times))

    def put(self, rule: Rule) -> Rule:
        """Put in a rule, which other bookies may have too: then it counts the requests to all of them."""
        with self.lock:
            self._rules.insert(0, rule)
        return rule

    def honest_again(self) -> None:
        """Forget all rules."""
        with self.lock:
            self._rules.clear()

    def requests(self, operation: str | None = None, **wanted: Any) -> list[ClientRequest]:
        """The requests that it has got so far, in order."""
        rule = Rule(operation, wanted, action=lambda exchange: None)
        with self._arrived:
            return [each for each in self._requests if rule.takes(each)]

    def wait_for(
        self, operation: str | None = None, *, count: int = 1, timeout_s: float = HELD_S, **wanted: Any
    ) -> list[ClientRequest]:
        """Wait until it has got ``count`` such requests.  Raises Mismatch if they do not come in time."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests(operation, **wanted)) >= count, timeout_s):
                found = len(self.requests(operation, **wanted))
                text = f"{operation or 'request'}s to {self.name} with {wanted}" if wanted else f"{operation} requests"
                raise Mismatch(text, f"{count} within {timeout_s} s", str(found))
            return self.requests(operation, **wanted)

    def say(self, request: ClientRequest) -> None:
        """Carry out a request that got no reply before, and answer it on the newest connection."""
        self._connections[-1].send(self._connections[-1].carry_out(request))

    def ledger(self, ledger_id: int) -> StoredLedger | None:
        """A ledger as it has it; None if it does not know the ledger."""
        with self.lock:
            return self.store.ledgers.get(ledger_id)

    def entries(self, ledger_id: int) -> dict[int, bytes]:
        """The entries it has of a ledger; a copy."""
        with self.lock:
            found = self.store.ledgers.get(ledger_id)
            return dict(found.entries) if found else {}

    def entry(self, ledger_id: int, entry_id: int) -> bytes:
        """An entry that it must have.  Raises Mismatch if it lacks the entry."""
        found = self.entries(ledger_id)
        if entry_id not in found:
            raise Mismatch(f"entries of {self.name}", f"{entry_id} among them", str(sorted(found)))
        return found[entry_id]

    def fenced(self, ledger_id: int) -> bool:
        """Whether it has fenced a ledger."""
        with self.lock:
            found = self.store.ledgers.get(ledger_id)
            return found is not None and found.fenced

    # Its port --------------------------------------------------------------------------------------------------------

    def _take_one_of(self, ports: Sequence[int]) -> None:
        for self.port in ports:
            try:
                self._hold_port()
                self.listen()
            except OSError:
                self.refuse()
                self._let_port_go()
                continue
            return
        raise Unavailable(f"no free port on {self.host} for a scripted bookie: give --listen more of them")

    def _hold_port(self) -> None:
        """Keep the port from others, above all from outgoing connections, while the bookie is down."""
        if sys.platform == "linux":  # elsewhere nothing can listen on a port bound here
            self._held = self._bind()

    def _let_port_go(self) -> None:
        if self._held is not None:
            self._held.close()

    def _bind(self) -> socket.socket:
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self.host, self.port))
        except OSError:
            bound.close()
            raise
        self.port = bound.getsockname()[1]
        return bound

    def listen(self) -> None:
        """Take connections, on the same port as before."""
        listener = self._listener = self._bind()
        listener.listen(_BACKLOG)
        threading.Thread(target=self._accept, args=(listener,), name=f"{self.name} accepts", daemon=True).start()

    def refuse(self) -> None:
        """Take no new connections; those that exist go on."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def stop(self) -> None:
        """Vanish: nothing listens, every connection is closed."""
        self.refuse()
        self.drop_connections()

    def drop_connections(self) -> None:
        """Close every connection; new ones are taken."""
        with self.lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            connection.close()

    def end(self) -> None:
        """Stop for good."""
        self._closed = True
        for timer in self._timers:
            timer.cancel()
        self.stop()
        self._let_port_go()

    # For its connections ---------------------------------------------------------------------------------------------

    def rule_for(self, request: ClientRequest) -> Rule | None:
        """Note the request, and find the rule that takes it."""
        with self.lock:
            found = next((rule for rule in self._rules if rule.takes(request)), None)
        with self._arrived:
            self._requests.append(request)
            self._arrived.notify_all()
        return found

    def carry_out(self, request: ClientRequest) -> Answer:
        """Carry out a request, and wake the long polls that it ends."""
        with self.lock:
            answer = self.store.answer(request)
            woken = list(self._polls) if request.operation in (names.ADD, names.WRITE_LAC) or request.fencing else []
        for wake in woken:
            wake()
        return answer

    def poll(self, request: ClientRequest, answer: Callable[[], None]) -> bool:
        """Whether a long poll has to wait; then ``answer`` is called once, when it is over."""
        with self.lock:
            if not self.store.waits(request):
                return False
            done = threading.Event()

            def look(over: bool = False) -> None:
                with self.lock:
                    if done.is_set() or (not over and self.store.waits(request)):
                        return
                    done.set()
                    self._polls.remove(look)
                answer()

            self._polls.append(look)
        self.later(request.timeout_ms / 1000, lambda: look(over=True))
        return True

    def later(self, delay_s: float, what: Callable[[], None]) -> None:
        """Call after a while, unless the bookie has ended by then."""
        timer = threading.Timer(delay_s, lambda: None if self._closed else what())
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                accepted, _ = listener.accept()
            except OSError:
                return
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self._connection_count += 1
                connection = BookieConnection(self, accepted, f"{self.name}, connection {self._connection_count}")
                self._connections.append(connection)
                gone = self._listener is not listener
            if gone:
                connection.close()
            else:
                connection.start()

    @property
    def connection_count(self) -> int:
        """Connections taken so far."""
        return self._connection_count

    def wait_connections(self, count: int, timeout_s: float = HELD_S) -> None:
        """Wait until so many connections were taken."""
        deadline = time.monotonic() + timeout_s
        while self._connection_count < count:
            if time.monotonic() > deadline:
                raise Mismatch(f"connections to {self.name}", str(count), str(self._connection_count))
            time.sleep(0.005)

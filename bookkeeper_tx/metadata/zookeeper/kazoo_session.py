"""A ZooKeeper session for Twisted: kazoo, with everything that would block or surprise kept inside this file.

kazoo's habits, and the remedy here:

- callbacks of requests and watches run in its worker threads, state listeners in its connection thread: they only call
  ``callFromThread``;
- while the connection is down it queues requests without limit in time: here they wait outside, until it is up or until
  their caller cancels them, and the late result of a cancelled one is dropped;
- ``start`` and ``stop`` block, and join threads: each call runs in a thread of its own;
- a request in flight when the connection breaks fails with unknown outcome: ``kazoo_client.ConnectionLost``;
- before it reconnects it may wait for a minute: the delay is capped;
- after ``stop`` a request would never be answered: here it fails at once.

All its watches fire when the connection breaks, and are not set again; ``node_watches`` does that.  A process must not
fork after ``start``: the threads would be missing in the child.
"""

import threading
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState
from twisted.internet.defer import Deferred, fail, succeed

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.zookeeper.access import Access
from bookkeeper_tx.metadata.zookeeper.kazoo_client import translated
from bookkeeper_tx.security.metadata_security import MetadataSecurity


class _State(Enum):
    NEW = "not started"
    CONNECTING = "connecting for the first time"
    OPEN = "in use; the connection may be up or down"
    STOPPED = "stopped, or failed to start"


class KazooSession:
    """ZooKeeper sessions, one after the other: kazoo opens a new one when the server has expired the last one."""

    def __init__(
        self,
        reactor: Any,
        hosts: Iterable[str],
        session_timeout_s: float,
        connect_timeout_s: float,
        security: MetadataSecurity | None = None,
        make_client: Callable[..., Any] = KazooClient,
    ) -> None:
        self.hosts = ",".join(hosts)
        self.connected_again: Callable[[], None] = lambda: None
        """Called on each connection after the first, in the same session or a new one."""
        self._reactor = reactor
        self._connect_timeout_s = connect_timeout_s
        self._access = Access(self.hosts, security)
        self._client = make_client(timeout=session_timeout_s, **self._access.client_arguments())
        self._state = _State.NEW
        self._waiting: list[Deferred[None]] = []
        self._shutdown_trigger: Any = None

    def why_not(self, within_s: float) -> str:
        """Return why the servers have turned us away in the last ``within_s`` seconds, behind a colon; or nothing."""
        return self._access.why_not(within_s)

    @property
    def session_id(self) -> int | None:
        """The id of the present session, as ``ephemeralOwner`` gives it."""
        return self._client.client_id[0] if self._client.client_id else None

    def start(self) -> Deferred[None]:
        """Connect; fails with MetadataUnavailable or MetadataAccessDenied, naming the hosts."""
        self._state = _State.CONNECTING
        self._client.add_listener(self._listen)
        # "During" comes when all that stops "before" has ended: a bookie gives up its registration by this session.
        self._shutdown_trigger = self._reactor.addSystemEventTrigger("during", "shutdown", self._at_shutdown)
        return self._in_thread(self._connect).addCallbacks(self._open, self._failed_to_start)

    def stop(self) -> Deferred[None]:
        """Close the session, which removes its ephemeral nodes, and end kazoo's threads."""
        before, self._state = self._state, _State.STOPPED
        if before in (_State.NEW, _State.STOPPED):
            return succeed(None)
        self._remove_trigger()
        self._wake()
        return self._in_thread(self._disconnect)

    def submit(self, name: str, *args: Any, **kwargs: Any) -> Deferred[Any]:
        """Make one kazoo request (``create``, ``get``, …) once connected.

        Fires with the result of kazoo's blocking method.  Fails with ConnectionLost, or with kazoo's error for the
        server's answer.  Waits without limit; cancel it.
        """
        return self._when_connected(lambda: getattr(self._client, name + "_async")(*args, **kwargs))

    def commit(self, creates: Iterable[tuple[str, bytes]]) -> Deferred[list[Any]]:
        """Create all these nodes or none; fires with a list of paths, or of the errors if there is one."""

        def commit() -> Any:
            transaction = self._client.transaction()
            for path, data in creates:
                transaction.create(path, data)
            return transaction.commit_async()

        return self._when_connected(commit)

    def watcher(self, fired: Callable[..., None], *args: Any) -> Any:
        """Return a watch for ``submit`` that calls ``fired(*args)`` on the reactor; equal ones are set only once."""
        return _Watcher(self._reactor, fired, args)

    # Requests -----------------------------------------------------------------------------------------------------

    def _when_connected(self, request: Callable[[], Any]) -> Deferred[Any]:
        if self._state is _State.STOPPED:
            return fail(MetadataUnavailable("the metadata store was stopped"))
        if self._client.connected:
            return self._send(request)
        connected: Deferred[Any] = Deferred(self._waiting.remove)
        self._waiting.append(connected)
        return connected.addCallback(lambda _: self._when_connected(request))

    def _send(self, request: Callable[[], Any]) -> Deferred[Any]:
        done: Deferred[Any] = Deferred()
        try:
            result = request()
        except Exception as error:
            return fail(translated(error))
        result.rawlink(lambda each: self._reactor.callFromThread(_deliver, each, done))
        return done

    # The state of the connection ----------------------------------------------------------------------------------

    def _listen(self, state: str) -> None:  # in kazoo's connection thread
        if state == KazooState.CONNECTED:
            self._reactor.callFromThread(self._connected)

    def _connected(self) -> None:
        self._wake()
        if self._state is _State.OPEN:
            self.connected_again()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)

    def _open(self, _: Any) -> None:
        if self._state is _State.CONNECTING:
            self._state = _State.OPEN

    def _failed_to_start(self, failure: Any) -> Any:
        self._state = _State.STOPPED
        self._remove_trigger()
        return failure

    def _at_shutdown(self) -> None:
        """Close the session that nobody has stopped; blocks, for no Deferred fires any more."""
        self._shutdown_trigger = None
        self._state = _State.STOPPED
        self._disconnect()

    def _remove_trigger(self) -> None:
        trigger, self._shutdown_trigger = self._shutdown_trigger, None
        if trigger is not None:
            self._reactor.removeSystemEventTrigger(trigger)

    # What blocks --------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        try:
            self._access.start(self._client, self._connect_timeout_s)
        except BaseException:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        self._access.stop(self._client)

    def _in_thread(self, function: Callable[[], None]) -> Deferred[None]:
        done: Deferred[None] = Deferred()

        def work() -> None:
            failed: BaseException | None = None
            try:
                function()
            except BaseException as error:
                failed = error
            self._reactor.callFromThread(finish, failed)

        def finish(failed: BaseException | None) -> None:
            thread.join()  # at its last instruction
            if failed is None:
                done.callback(None)
            else:
                done.errback(failed)

        thread = threading.Thread(target=work, name="zookeeper-session", daemon=True)
        thread.start()
        return done


class _Watcher:
    """A watch function that equals others with the same target, so that kazoo keeps one of them."""

    def __init__(self, reactor: Any, fired: Callable[..., None], args: tuple[Any, ...]) -> None:
        self._reactor = reactor
        self._target = (fired, args)

    def __call__(self, event: Any) -> None:  # in kazoo's watch thread
        fired, args = self._target
        self._reactor.callFromThread(fired, *args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Watcher) and self._target == other._target

    def __hash__(self) -> int:
        return hash(self._target)


def _deliver(result: Any, done: Deferred[Any]) -> None:
    if done.called:
        return  # cancelled, or kazoo reports a broken connection twice
    if result.exception is not None:
        done.errback(translated(result.exception))
    else:
        done.callback(result.value)

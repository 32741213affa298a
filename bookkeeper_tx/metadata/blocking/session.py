"""A ZooKeeper session for a program without a reactor: a KazooClient whose every wait has a limit.

kazoo's quirks are listed in ``kazoo_session``.  These matter here:

- while the connection is down it queues requests without limit in time, so they wait outside;
- requests in flight when the connection breaks fail with unknown outcome;
- it waits as long as a session lasts for a server that accepts the connection and sends nothing, as a starting server
  may;
- a forked child would have the client without its threads, so a program must fork before it connects.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from kazoo import exceptions
from kazoo.client import KazooClient

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.zookeeper.access import Access
from bookkeeper_tx.metadata.zookeeper.kazoo_client import PAUSE_AFTER_LOSS_S, not_answered, translated
from bookkeeper_tx.security.metadata_security import MetadataSecurity

_RECONNECT_POLL_S = 0.02

_SESSIONS_IN_TIME = 3
"""How many servers that do not answer kazoo may wait for, one after the other, in the time of an operation."""

_SESSION_MIN_S = 2.0
"""Shortest session time-out, unless an operation has less time: a busy server takes a while to begin a session."""


class BlockingSession:
    """One ZooKeeper session after the other, for one thread."""

    def __init__(
        self,
        hosts: Iterable[str],
        timeout_s: float,
        security: MetadataSecurity | None = None,
        *,
        make_client: Callable[..., Any] = KazooClient,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``timeout_s`` is how long an operation may take; sessions are shorter."""
        self.hosts = ",".join(hosts)
        session_s = max(timeout_s / _SESSIONS_IN_TIME, min(timeout_s, _SESSION_MIN_S))
        self._access = Access(self.hosts, security)
        self.client: Any = make_client(timeout=session_s, **self._access.client_arguments())
        self._timeout_s = timeout_s
        self._clock = clock
        self._sleep = sleep
        self._closed = False

    def open(self) -> None:
        """Connect; raises MetadataUnavailable or MetadataAccessDenied, naming the hosts."""
        try:
            self._access.start(self.client, self._timeout_s)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the session and end kazoo's threads; later requests fail at once."""
        if self._closed:
            return
        self._closed = True
        try:
            self._access.stop(self.client)
        except exceptions.WriterNotClosedException:
            pass  # the server does not answer; kazoo's threads are daemons, and end when they notice

    @property
    def session_id(self) -> int | None:
        """The id of the present session."""
        return self.client.client_id[0] if self.client.client_id else None

    def deadline(self, extra_timeout_s: float = 0) -> float:
        """Return the time at which an operation that begins now has to be over."""
        return self._clock() + self._timeout_s + extra_timeout_s

    def send(self, request: Callable[..., Any], *args: Any, deadline: float, **kwargs: Any) -> Any:
        """Call ``request`` of the client, one of the ``…_async``, once it is connected; returns kazoo's result."""
        while not self.client.connected:
            self._sleep(min(_RECONNECT_POLL_S, self._left_s(deadline)))
        self._left_s(deadline)
        return request(*args, **kwargs)

    def answer(self, result: Any, deadline: float) -> Any:
        """Wait for the answer to a request that :meth:`send` sent.

        Raises ConnectionLost when its outcome is unknown, MetadataUnavailable when the time is over, or kazoo's error
        for the server's answer.
        """
        if not result.ready() and not result.wait(self._left_s(deadline)):
            raise not_answered(self.hosts, self._timeout_s, self._access.why_not(self._timeout_s))
        if result.successful():
            return result.value
        raise translated(result.exception)

    def pause_after_loss(self, deadline: float) -> None:
        """Give kazoo the time to notice that the connection is down."""
        self._sleep(min(PAUSE_AFTER_LOSS_S, self._left_s(deadline)))

    def _left_s(self, deadline: float) -> float:
        if self._closed:
            raise MetadataUnavailable("the metadata store was closed")
        left_s = deadline - self._clock()
        if left_s <= 0:
            raise not_answered(self.hosts, self._timeout_s, self._access.why_not(self._timeout_s))
        return left_s

"""The registrations that this process keeps in etcd: its lease is kept alive; if it is lost they are made again."""

from collections.abc import Callable
from typing import Any, Final

from attrs import frozen
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import deferLater
from twisted.logger import Logger

from bookkeeper_tx.errors import BookieIdInUse
from bookkeeper_tx.metadata.etcd.bookies import EtcdBookies, HeldByOther
from bookkeeper_tx.metadata.etcd.channel import LeaseLost
from bookkeeper_tx.metadata.etcd.lease import EtcdLease
from bookkeeper_tx.model import BookieId, BookieServiceInfo

VANISH_FACTOR: Final = 1.2
"""The key of a dead process may outlive its lease by an election of the server."""

KEEPS_IN_TTL: Final = 3
"""How often a lease is kept alive in the time that it lives."""

_VANISH_POLL_S = 0.2
_AGAIN_AFTER_S = 1.0
"""How long to wait after a failed attempt to keep the lease or to register again."""


@frozen
class Registration:
    """A registration to keep: its contents, and the callback if it cannot be kept."""

    info: BookieServiceInfo
    read_only: bool
    lost: Callable[[BaseException], None] | None


class EtcdRegistrations:
    """The registrations of this process, all under one lease.

    ``run(function, *args)`` calls what blocks on the thread that has the lease, and fires with what it returns.
    """

    _log = Logger()

    def __init__(
        self,
        bookies: EtcdBookies,
        lease: EtcdLease,
        ttl_s: float,
        clock: Any,
        run: Callable[..., Deferred[Any]],
    ) -> None:
        self.patience_s = ttl_s * VANISH_FACTOR
        """How long to wait for the key of a dead process to vanish."""
        self._bookies = bookies
        self._lease = lease
        self._interval_s = ttl_s / KEEPS_IN_TTL
        self._clock = clock
        self._run = run
        self._wanted: dict[BookieId, Registration] = {}
        self._leases: dict[BookieId, int] = {}
        """The lease under which each was registered last."""
        self._lock = DeferredLock()
        self._next: IDelayedCall | None = None
        self._stopped = False

    async def register(self, bookie_id: BookieId, wanted: Registration) -> None:
        """Set the key, or move it between writable and read-only, in one change; raises BookieIdInUse."""
        await self._lock.acquire()
        try:
            self.keep_lease()
            self._leases[bookie_id] = await self._take(bookie_id, wanted)
            self._wanted[bookie_id] = wanted
        finally:
            self._lock.release()

    async def unregister(self, bookie_id: BookieId) -> None:
        """Remove the key, if it is ours."""
        await self._lock.acquire()
        try:
            if self._wanted.pop(bookie_id, None) is not None:
                await self._run(self._bookies.give_up, bookie_id, self._lease)
        finally:
            self._lock.release()

    def keep_lease(self) -> None:
        """Keep the lease alive from now on, if there is one."""
        if self._next is None and not self._stopped:
            self._next = self._clock.callLater(self._interval_s, self._keep)

    def stop(self) -> None:
        """Keep nothing any more; the lease ends in a while unless it is revoked."""
        self._stopped = True
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _keep(self) -> None:
        self._next = None
        if any(self._leases[bookie_id] != self._lease.current for bookie_id in self._wanted):
            kept = Deferred.fromCoroutine(self._register_all())
        else:
            kept = self._run(self._lease.keep_alive).addErrback(self._again)
        kept.addCallbacks(lambda _: self._interval_s, self._failed).addCallback(self._keep_after)

    def _keep_after(self, delay_s: float) -> None:
        if self._next is None and not self._stopped:
            self._next = self._clock.callLater(delay_s, self._keep)

    def _failed(self, failure: Any) -> float:
        if not self._stopped:
            self._log.warn("the lease was not kept, trying again: {error}", error=failure.value)
        return min(_AGAIN_AFTER_S, self._interval_s)

    def _again(self, failure: Any) -> Deferred[None]:
        failure.trap(LeaseLost)
        self._log.info("the lease in etcd was lost: registering again")
        return Deferred.fromCoroutine(self._register_all())

    async def _register_all(self) -> None:
        await self._lock.acquire()
        try:
            for bookie_id, wanted in list(self._wanted.items()):
                try:
                    self._leases[bookie_id] = await self._take(bookie_id, wanted)
                except BookieIdInUse as error:
                    self._log.error("{error}", error=error)
                    del self._wanted[bookie_id]
                    if wanted.lost is not None:
                        wanted.lost(error)
        finally:
            self._lock.release()

    async def _take(self, bookie_id: BookieId, wanted: Registration) -> int:
        deadline = self._clock.seconds() + self.patience_s
        while True:
            try:
                lease_id: int = await self._run(
                    self._bookies.take, bookie_id, wanted.info, wanted.read_only, self._lease
                )
            except HeldByOther as held:
                if self._clock.seconds() > deadline:
                    raise BookieIdInUse(
                        f"a bookie with the id {bookie_id} is running: another process holds the key {held.key}. "
                        "Stop it, or give this one another id."
                    ) from None
            else:
                return lease_id
            await deferLater(self._clock, _VANISH_POLL_S, lambda: None)

"""Bookies' registrations in ZooKeeper: an ephemeral node each, made again in every new session."""

from collections.abc import Callable
from typing import Any

from attrs import frozen
from kazoo import exceptions
from twisted.internet.defer import DeferredLock
from twisted.logger import Logger

from bookkeeper_tx.errors import BookieIdInUse, MetadataError
from bookkeeper_tx.metadata import service_info
from bookkeeper_tx.metadata.zookeeper.kazoo_client import ConnectionLost
from bookkeeper_tx.metadata.zookeeper.registered_bookies import RegisteredBookies
from bookkeeper_tx.metadata.zookeeper.requests import delete_own, ensure, looked_at
from bookkeeper_tx.metadata.zookeeper.twisted_requests import TwistedRequests
from bookkeeper_tx.model import BookieId, BookieServiceInfo

VANISH_FACTOR = 1.2
"""A dead process's node may outlive its session timeout by a tick of the server."""

_VANISH_POLL_S = 0.2
_AGAIN_AFTER_S = 1.0
"""How long to wait after a failed attempt to register again."""


@frozen
class Registration:
    """A registration to keep: its contents, and the callback if it cannot be kept."""

    info: BookieServiceInfo
    read_only: bool = False
    lost: Callable[[BaseException], None] | None = None


class ZooKeeperRegistrations:
    """The registrations below one root that this process makes."""

    _log = Logger()

    def __init__(self, requests: TwistedRequests, root: str, reactor: Any, session_timeout_s: float) -> None:
        self._bookies = RegisteredBookies(requests, root)
        self.patience_s = session_timeout_s * VANISH_FACTOR
        """How long to wait for the node of a dead session to vanish."""
        self._requests = requests
        self._reactor = reactor
        self._wanted: dict[BookieId, Registration] = {}
        self._session_id: int | None = None
        self._is_registering_again = False
        self._connection = 0
        """The number of the connection, of all that there were."""
        self._said = ""
        """The last reason why that failed; it is logged once."""
        self._lock = DeferredLock()

    async def register(self, bookie_id: BookieId, wanted: Registration) -> None:
        """Make the node, or move it between writable and read-only: the new node comes before the old one goes."""
        await self._lock.acquire()
        try:
            while True:
                session_id = self._requests.session.session_id
                await self._register(bookie_id, wanted)
                if session_id == self._requests.session.session_id:
                    break
                # It has ended meanwhile, and the node with it; the new one did not know yet what to register again.
            self._wanted[bookie_id] = wanted
            self._session_id = session_id
        finally:
            self._lock.release()

    async def unregister(self, bookie_id: BookieId) -> None:
        """Remove the node, if it is ours."""
        await self._lock.acquire()
        try:
            if self._wanted.pop(bookie_id, None) is not None:
                for path in self._bookies.paths(bookie_id, False):
                    await delete_own(self._requests, path)
        finally:
            self._lock.release()

    def connected_again(self) -> None:
        """Register again if the session is a new one: the nodes of the old one are gone."""
        self._connection += 1
        self._look_at_session()

    def _look_at_session(self) -> None:
        if self._requests.stopped or self._is_registering_again:
            return  # one attempt at a time, or a login that fails again and again would begin more and more
        if self._wanted and self._requests.session.session_id != self._session_id:
            self._log.info("new ZooKeeper session: registering again")
            self._is_registering_again = True
            again = self._requests.within(self._again(), self.patience_s)
            again.addCallbacks(self._registered_again, self._again_failed)

    async def _again(self) -> None:
        await self._lock.acquire()
        try:
            session_id = self._requests.session.session_id
            for bookie_id, wanted in list(self._wanted.items()):
                try:
                    await self._register(bookie_id, wanted)
                except BookieIdInUse as error:
                    self._log.error("{error}", error=error)
                    del self._wanted[bookie_id]
                    if wanted.lost is not None:
                        wanted.lost(error)
            self._session_id = session_id
        finally:
            self._lock.release()

    def _registered_again(self, _: None) -> None:
        self._is_registering_again, self._said = False, ""
        self._look_at_session()  # it may have ended meanwhile

    def _again_failed(self, failure: Any) -> None:
        self._is_registering_again = False
        if not failure.check(MetadataError):
            self._log.failure("could not register again", failure)
            return
        if str(failure.value) != self._said:
            self._said = str(failure.value)
            self._log.warn("could not register again, trying on: {error}", error=failure.value)
        if not self._requests.stopped:
            self._reactor.callLater(_AGAIN_AFTER_S, self._look_at_session)

    async def _register(self, bookie_id: BookieId, wanted: Registration) -> None:
        path, other = self._bookies.paths(bookie_id, wanted.read_only)
        data = service_info.serialize(wanted.info)
        await self._until_not_foreign(other, bookie_id)
        while True:
            owner = await self._until_not_foreign(path, bookie_id)
            try:
                if owner is None:
                    await self._requests.once("create", path, data, ephemeral=True)
                else:
                    await self._requests.once("set", path, data)
                break
            except (ConnectionLost, exceptions.NodeExistsError):
                continue
            except exceptions.NoNodeError:
                if owner is None and wanted.read_only:
                    await ensure(self._requests, self._bookies.read_only_folder)
                elif owner is None:
                    raise
        await delete_own(self._requests, other)

    async def _until_not_foreign(self, path: str, bookie_id: BookieId) -> int | None:
        """Return our session as owner of the node, None if there is no node; wait while another session owns it."""
        deadline, connection = float("inf"), -1
        while True:
            stat, session_id = await looked_at(self._requests, path)
            if stat is None:
                return None
            owner = int(stat.ephemeralOwner)
            if owner == session_id:
                return owner
            if connection != self._connection:
                # A new leader of the servers counts the time of each session anew.
                deadline, connection = self._reactor.seconds() + self.patience_s, self._connection
            if self._reactor.seconds() > deadline:
                raise BookieIdInUse(
                    f"a bookie with the id {bookie_id} is running: the session {owner:#x} holds {path}. "
                    "Stop it, or give this one another id."
                )
            await self._requests.pause(_VANISH_POLL_S)

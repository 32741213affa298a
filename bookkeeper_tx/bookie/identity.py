"""Whether the directories of a bookie are those that its cluster knows: its cookies are compared, and written."""

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger

from bookkeeper_tx.bookie.cookie import Cookie, CookiesDiffer
from bookkeeper_tx.bookie.cookie_plan import CookiePlan
from bookkeeper_tx.bookie.directories import Directories
from bookkeeper_tx.bookie.integrity.lost_cookies import Stamps, lost_cookies, refuse_left_out
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId

Run = Callable[..., Deferred[Any]]
"""Calls what waits for the disk."""

log = Logger()


class Identity:
    """The cookies of a bookie in its ``directories`` and in the metadata ``store``."""

    def __init__(
        self, config: BookieConfig, store: MetadataStore, directories: Directories, bookie_id: BookieId
    ) -> None:
        self._config = config
        self._store = store
        self._directories = directories
        self._bookie_id = bookie_id
        self.instance_id: str | None = None
        """Of the cluster, once there is a connection to it."""
        self.lost: Stamps | None = None
        """The cookies to be written once all ledgers are marked, since entries may be lost."""

    async def establish(self) -> None:
        """Connect to the cluster, made if there is none, and make sure that these are our directories there."""
        await self._store.start()
        if await self._store.initialize():
            log.info("made an empty cluster at {uri}", uri=self._config.metadata_uri)
        self.lost = await self._compare()

    async def check(self, run: Run) -> None:
        """Compare the cookies of a bookie that runs, and write those that are missing, if they may be.

        Raises RefusedToStart, also for what only a start can put right.
        """
        lost = await self._compare(run)
        if lost is not None:
            raise RefusedToStart(f"{lost.reason}: stop the bookie, and start it again")

    async def _compare(self, run: Run = maybeDeferred) -> Stamps | None:
        """Write the cookies that are missing at a first start, or in new directories; return those that were lost.

        ``run``: on this thread while nobody is served.
        """
        config, directories = self._config, self._directories
        self.instance_id = await self._store.instance_id()
        kinds = config.journal_directories, config.ledger_directories, config.index_directories
        expected = Cookie.of_directories(self._bookie_id, *kinds, self.instance_id)
        stored = await self._store.read_cookie(self._bookie_id)
        try:
            plan = await run(directories.plan_cookie, expected, None if stored is None else stored[0])
        except CookiesDiffer:
            if not config.data_integrity_checking or stored is None:
                raise
            files = await run(directories.read_cookies)
            lost = lost_cookies(expected, *stored, files, config.data_integrity_stamp_missing_cookies)
            if lost is not None:
                refuse_left_out(expected, await run(directories.read_left_out, lost.named))
            return lost
        await run(directories.write_cookies, plan)
        if plan.to_store:
            await self._store.write_cookie(self._bookie_id, plan.data, None if stored is None else stored[1])
        return None

    async def stamp(self) -> None:
        """Write the cookies that were lost, if any: all ledgers are marked.  Raises MetadataConflict, OSError."""
        if self.lost is None:
            return
        await self._store.write_cookie(self._bookie_id, self.lost.data, self.lost.version)
        self._directories.write_cookies(CookiePlan(self.lost.data, self.lost.files))
        self.lost = None

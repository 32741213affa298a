"""The lease of who leads an election: renewed in time as long as somebody holds it, until it is lost or given back."""

from functools import partial
from typing import Final

from bookkeeper_tx.client.core import AnyClient
from bookkeeper_tx.driver import Promise, Timer, answer_all
from bookkeeper_tx.errors import BookKeeperError, ClientClosed, MetadataConflict, MetadataUnavailable
from bookkeeper_tx.replicated_log.election_record import ELECTIONS, ElectionRecord

RENEWALS_A_LEASE: Final = 3
"""How often the lease is renewed in its time."""


class Lease:
    """The lease of one candidate of one election, which it has from ``asked_s`` on."""

    def __init__(self, client: AnyClient, name: str, record: ElectionRecord, version: int, asked_s: float) -> None:
        self._client = client
        self._driver = client.driver
        self._name = name
        self._record = record
        self._version = version
        self._until_s = asked_s + record.lease_s
        """It is over then, by the clock of this process: others count from when they have seen the renewal."""
        self.over = False
        """Whether it was lost or given back."""
        self.is_held = True
        """Whether somebody has what this is for; set by any thread."""
        self._given_back = False
        self._waiting: list[Promise[None]] = []
        """Those who wait for the end."""
        self._renewing: Promise[bool] | None = None
        self._renew_s = asked_s + self._renewal_s
        """When it is to be renewed next."""
        self._timer: Timer | None = None
        self._look()

    def holds(self) -> bool:
        """Tell whether it holds now."""
        return not self.over and not self._client.closed and self._driver.clock.seconds() < self._until_s

    def until_over(self) -> Promise[None]:
        """Wait for its end."""
        answer: Promise[None] = self._driver.cancellable(self._forget)
        if self.over:
            answer.callback(None)
        else:
            self._waiting.append(answer)
        return answer

    def end(self) -> None:
        """Renew it no more; who waits for its end is told."""
        if not self.over:
            self.over = True
            timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            self._cancel_renewal()
            waiting, self._waiting = self._waiting, []
            answer_all(waiting, None)

    async def give_back(self) -> None:
        """Write that it is given back, once.  Raises MetadataUnavailable, and then can be called again."""
        if not self._given_back:
            await self._write(resigned=True)
            self._given_back = True

    # -----------------------------------------------------------------------------------------------------------------

    @property
    def _renewal_s(self) -> float:
        return self._record.lease_s / RENEWALS_A_LEASE

    def _look(self) -> None:
        """Do what is due, and look again soon."""
        self._timer = None
        now_s = self._driver.clock.seconds()
        if not self.holds():
            self.end()
            if not self._client.closed:
                self._driver.warn(f"election {self._name}: {self._record.candidate} could not renew its lease in time")
        elif not self.is_held and not self._waiting:
            self.end()
            self._driver.when_done(self._client.run(self.give_back), self._ended)
        else:
            self._timer = self._driver.clock.callLater(min(self._record.look_s, self._until_s - now_s), self._look)
            if now_s >= self._renew_s:
                self._renew(now_s)

    def _renew(self, now_s: float) -> None:
        """Renew it; a renewal that still has no answer is given up, since one that hangs must not cost the lease."""
        self._cancel_renewal()
        self._renew_s = now_s + self._renewal_s
        self._renewing = renewing = self._client.run(self._write)
        self._driver.when_done(renewing, partial(self._renewed, now_s))

    def _cancel_renewal(self) -> None:
        renewing, self._renewing = self._renewing, None
        if renewing is not None:
            renewing.cancel()

    def _renewed(self, asked_s: float, error: Exception | None, leads: bool | None) -> None:
        if self.over:
            return
        if error is None and leads:
            self._until_s = max(self._until_s, asked_s + self._record.lease_s)
        elif isinstance(error, MetadataUnavailable):
            self._renew_s = asked_s  # at the next look
        elif not isinstance(error, ClientClosed):  # a renewal that was given up, or the next look tells
            self.end()
            self._ended(error, None)

    def _ended(self, error: Exception | None, _: object) -> None:
        if isinstance(error, BookKeeperError):
            if not isinstance(error, ClientClosed):
                self._driver.warn(f"election {self._name}: {self._record.candidate} leads no longer: {error}")
        elif error is not None:
            raise error  # a mistake here

    async def _write(self, resigned: bool = False) -> bool:
        """Give a sign of life, or give the lease back; return whether that was possible: nobody else leads."""
        path = (ELECTIONS, self._name)
        while True:
            # Never the same bytes: a store takes those for what it has written for an earlier call without an answer.
            self._record = record = self._record.signed(resigned)
            try:
                self._version = await self._client.metadata.write_record(path, record.serialize(), self._version)
                return True
            except MetadataConflict:
                found = await self._client.metadata.read_record(path)
                if found is None or ElectionRecord.parse(found[0], self._name).token != record.token:
                    return False
                self._version = found[1]  # of an earlier write, whose answer was lost

    def _forget(self, answer: Promise[None]) -> None:
        if answer in self._waiting:
            self._waiting.remove(answer)

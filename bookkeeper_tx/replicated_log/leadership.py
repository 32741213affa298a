"""Leading: what a candidate has that won an election, until it is lost or given back."""

import weakref
from typing import Self

from bookkeeper_tx.client.core import AnyClient
from bookkeeper_tx.client.promised import promised
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import ClientClosed, MetadataUnavailable
from bookkeeper_tx.replicated_log.lease import Lease


class Leadership:
    """The lead of one election, until it is lost or given back.

    It says who should write a log.  That nobody else does is the doing of the log, by fencing: a write that was sent by
    who lost the lead meanwhile fails there.

    Keep it while you lead: one that nobody has, and of which nobody waits for the end, is given back.
    """

    def __init__(self, client: AnyClient, name: str, candidate: str, lease: Lease) -> None:
        self.name = name
        """The name of the election."""
        self.candidate = candidate
        """What the one that leads is called."""
        self._client = client
        self._lease = lease
        # A campaign that is cancelled in the moment in which it is won must not lead for ever.
        weakref.finalize(self, setattr, lease, "is_held", False).atexit = False

    def leads(self) -> bool:
        """Tell whether this leads now: for ``still_leads`` of :meth:`.Namespace.open_log_writer`.

        It is so by the clock of this process, which may stand still while the machine is suspended.
        """
        return self._lease.holds()

    @promised
    def until_lost(self) -> Promise[None]:
        """Wait until this leads no longer: the lease could not be renewed in its time, or was given back."""
        return self._lease.until_over()

    @promised
    def resign(self) -> Promise[None]:
        """Give the lead back, so that another candidate need not wait for the end of the lease.

        :raises MetadataUnavailable: the store does not answer; the lease ends by itself
        """
        self._lease.end()
        return self._client.run(self._lease.give_back)

    @promised
    def close(self) -> Promise[None]:
        """Give the lead back; where that is not possible now, the lease ends by itself."""
        self._lease.end()
        return self._client.driver.spawn(self._close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close, also after an error."""
        await self.close()

    async def _close(self) -> None:
        try:
            await self._client.run(self._lease.give_back)
        except MetadataUnavailable as error:
            self._client.driver.warn(f"election {self.name}: {self.candidate} could not give the lead back: {error}")
        except ClientClosed:
            pass  # it leads no longer, and its lease ends by itself

"""Appends whose ids the application gives: checked, sealed and sent; nothing is held back."""

from bookkeeper_tx.client.given_id_adds import GivenIdAdds
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Driver, Promise
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookKeeperError, DuplicateEntryId, InvalidArgument, TooManyOutstandingAdds
from bookkeeper_tx.model import ledger_name
from protocol_specs import fields


class GivenIdAppends:
    """Sends appends as they come, as many as the configuration lets be on their way."""

    def __init__(
        self, driver: Driver, config: ClientConfig, ledger_id: int, digest: EntryDigest, adds: GivenIdAdds
    ) -> None:
        self._driver = driver
        self._ledger_id = ledger_id
        self._digest = digest
        self._adds = adds
        self._outstanding_max = config.outstanding_adds_max
        self._outstanding_bytes_max = config.outstanding_bytes_max
        self._length = 0
        """Payload bytes of all appends so far.  As in Java, each entry says how many they were when it was given."""
        self.refusal: BookKeeperError | None = None

    def append(self, entry_id: int, payload: bytes) -> Promise[int]:
        """Send one entry; fires with its id."""
        error = self._error_of(entry_id)
        if error is not None:
            return self._driver.fail(error)
        deferred: Promise[int] = self._driver.promise()  # before all else: it is refused on another thread
        self._length += len(payload)
        last_add_confirmed = self._adds.last_add_confirmed
        entry = self._digest.seal(self._ledger_id, entry_id, last_add_confirmed, self._length, payload)
        self._adds.push_given(entry_id, entry, len(payload), deferred)
        return deferred

    def refuse(self, error: BookKeeperError) -> None:
        """Let new appends fail with ``error``, or with that of the first call."""
        self.refusal = self.refusal or error

    async def drain(self) -> None:
        """Return when every append was acknowledged or has failed; no new one is taken."""
        self._adds.close_gap()
        await self._adds.when_fewer(1)

    def _error_of(self, entry_id: int) -> BookKeeperError | None:
        """Return why an append of this id cannot be taken, if so."""
        adds = self._adds
        refused = self.refusal or adds.error
        if refused is not None:
            return refused.again()
        if not isinstance(entry_id, int) or not fields.FIRST_ENTRY_ID <= entry_id <= fields.ENTRY_ID_MAX:
            return InvalidArgument(f"entry_id {entry_id!r} must be an integer from 0 to {fields.ENTRY_ID_MAX}")
        if adds.has(entry_id):
            return DuplicateEntryId(f"entry {entry_id} of ledger {ledger_name(self._ledger_id)} was appended already")
        full = adds.under_way >= self._outstanding_max or adds.bytes_under_way >= self._outstanding_bytes_max
        # All the others may wait for this one: then there will never be more room than now.
        if full and entry_id != adds.acknowledged[0] + 1:
            return TooManyOutstandingAdds(
                f"ledger {ledger_name(self._ledger_id)}: {adds.under_way} appends of {adds.bytes_under_way} bytes are "
                f"on their way, and entry {adds.gap} was not given yet; wait for some, or raise "
                f"ClientConfig.outstanding_adds_max ({self._outstanding_max}) or outstanding_bytes_max "
                f"({self._outstanding_bytes_max})"
            )
        return None

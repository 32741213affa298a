"""The bookies that the entries of a ledger are sent to, and the change of those that fail.

Only what sends the entries knows which of them are on their way, and what an error means for them: see
:class:`bookkeeper_tx.client.add_entry.Adds`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from attrs import define, field

from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.config import QUARANTINE_S
from bookkeeper_tx.errors import BookKeeperError, ClientClosed, LedgerScopeNotSupported, NotEnoughBookies
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields

Replace = Callable[[Mapping[int, BookieId], int, Collection[BookieId]], Awaitable[Sequence[BookieId]]]
"""``replace(broken, first_entry_id, avoided)`` writes down and gives the ensemble from ``first_entry_id`` on."""


@define(eq=False)
class Slot:
    """One place of the ensemble and the bookie that fills it now.

    A new bookie gets a new slot.  So a later reply of the replaced bookie is recognised, and has no effect.
    """

    index: int
    bookie_id: BookieId
    channel: Channel
    bit: int = field(init=False)
    replaced: bool = False
    broken: bool = False
    """Whether the bookie has failed.  If no other can take its place, the replacement is tried again after the set
    of bookies is no longer that of ``retry_generation``, or after ``retry_s``."""
    retry_generation: int = 0
    retry_s: float = 0.0
    error: BookKeeperError | None = None
    """Its last error."""
    lacks_from: int = fields.ENTRY_ID_MAX
    """The first entry that the bookie may lack."""

    def __attrs_post_init__(self) -> None:
        self.bit = 1 << self.index


class WriteEnsemble(ABC):
    """The slots of the ensemble that a ledger is written to.

    A bookie that fails is replaced, unless there is no other; then it is tried again after a while, or when the set of
    bookies has changed.
    """

    def __init__(
        self,
        context: ClientContext,
        ledger_id: int,
        quorum: Quorum,
        ensemble: Sequence[BookieId],
        replace: Replace,
        last_add_confirmed: int,
    ) -> None:
        self._context = context
        self._ledger_id = ledger_id
        self._quorum = quorum
        self._ensemble_size = quorum.ensemble_size
        self._replace = replace
        self._slots = [self._slot(index, bookie_id) for index, bookie_id in enumerate(ensemble)]
        self._write_slots: list[tuple[Slot, ...]] = []
        """For each entry id, modulo the size of the ensemble, the slots that it is sent to."""
        self._arrange()
        self.last_add_confirmed = last_add_confirmed
        """Id of the last entry that is confirmed."""
        self.fragment_start = last_add_confirmed + 1
        """Id of the first entry that the bookies in the slots store."""
        self._broken: list[Slot] = []
        self._avoided_until: dict[BookieId, float] = {}
        """Bookies that failed here lately, and until when they are avoided.  Otherwise two bookies that fail in turns
        would change the ensemble for ever."""
        self._lacking: dict[BookieId, int] = {}
        """Bookie that failed, and kept its place since there was no other → the first entry that it may lack."""
        self._changing = False
        """Whether others are being looked for: the last add confirmed must not move then."""
        self._ended = False
        """Whether the bookies stay as they are, since nothing more is sent to them."""
        self.error: BookKeeperError | None = None
        """The error that ended this, if any."""

    @property
    def ensemble(self) -> tuple[BookieId, ...]:
        """The bookies that fill the slots now."""
        return tuple(slot.bookie_id for slot in self._slots)

    @property
    def bookies(self) -> tuple[tuple[BookieId, Channel], ...]:
        """The bookies that fill the slots now, each with its channel."""
        return tuple((slot.bookie_id, slot.channel) for slot in self._slots)

    @property
    def lacking(self) -> frozenset[BookieId]:
        """The bookies that lack confirmed entries, since they failed and there was no other to take their place."""
        return frozenset(each for each, first in self._lacking.items() if first <= self.last_add_confirmed)

    # What sends the entries ------------------------------------------------------------------------------------------

    @abstractmethod
    def fail(self, error: BookKeeperError) -> None:
        """End with ``error``."""

    @abstractmethod
    def _send_again(self, changed: int) -> None:
        """Send the pending entries to the new bookies, which fill the slots of the bits ``changed``."""

    @abstractmethod
    def _require_ack_quorum(self, shortage: NotEnoughBookies | None) -> None:
        """Fail if too many bookies have refused an entry: no others were found, or others have failed meanwhile."""

    @abstractmethod
    def _complete(self) -> None:
        """Confirm the entries that are acknowledged."""

    def bookies_changed(self) -> None:
        """Take another bookie for each that has failed and kept its place, as far as there are others now."""
        broken = [slot for slot in self._slots if slot.broken]
        if self.error is not None or not broken:
            self._context.bookies.short.discard(self)
        elif self._context.bookies.writable - set(self.ensemble) - set(self._avoided()):
            for slot in broken:
                self._look_for_another(slot)

    def end_changes(self) -> None:
        """Keep the bookies that are there, whatever they answer from now on."""
        self._ended = True
        self._context.bookies.short.discard(self)

    # Failing bookies -------------------------------------------------------------------------------------------------

    def _replaces(self, slot: Slot, error: BookKeeperError) -> bool:
        """Look for another bookie for ``slot``, whose bookie has failed; return False if that is of no use now."""
        slot.error = error
        if self._ended or not self._worth_replacing(slot):
            return False
        self._context.bookies.quarantine_after_add(slot.bookie_id, error)
        self._look_for_another(slot)
        return True

    def _look_for_another(self, slot: Slot) -> None:
        self._broken.append(slot)
        if not self._changing:
            self._changing = True
            self._context.driver.spawn(self._change_ensemble())

    def _worth_replacing(self, slot: Slot) -> bool:
        """Return whether to look for another bookie: not again until the writable bookies change or time has passed."""
        now, generation = self._context.clock.seconds(), self._context.bookies.generation
        if slot.broken and slot.retry_generation == generation and now < slot.retry_s:
            return False
        slot.broken, slot.retry_generation, slot.retry_s = True, generation, now + QUARANTINE_S
        self._avoided_until[slot.bookie_id] = slot.retry_s
        return True

    def _avoided(self) -> Collection[BookieId]:
        now = self._context.clock.seconds()
        self._avoided_until = {each: until for each, until in self._avoided_until.items() if until > now}
        return self._avoided_until

    async def _change_ensemble(self) -> None:
        """Replace broken bookies until none is left that can be replaced."""
        shortage: NotEnoughBookies | None = None
        try:
            while self._broken and self.error is None and not self._ended:
                broken = {slot.index: slot.bookie_id for slot in self._broken if not slot.replaced}
                self._broken = []
                shortage = await self._replace_all(broken) or shortage
            # Without a replacement the writer goes on as long as the remaining bookies make an ack quorum.  This is
            # checked even if all of these were replaced: bookies that could not be earlier may have failed again.
            self._require_ack_quorum(shortage)
            self._note_lacking()
        except BookKeeperError as error:
            self.fail(error)
        except Exception as error:
            self.fail(
                BookKeeperError(
                    f"the ensemble of ledger {ledger_name(self._ledger_id)} could not be changed: {error!r}"
                )
            )
        except BaseException:
            self.fail(ClientClosed("the writer was cancelled while it looked for another bookie"))
            raise
        finally:
            self._changing = False
        self._complete()

    def _note_lacking(self) -> None:
        """Say which bookies have failed and keep their place, and wait for others."""
        if self.error is not None or self._ended:
            return
        for slot in self._slots:
            if slot.broken:
                self._context.bookies.short.add(self)
            if slot.broken and slot.bookie_id not in self._lacking:
                self._lacking[slot.bookie_id] = slot.lacks_from
                self._context.driver.warn(
                    f"bookie {slot.bookie_id} of ledger {ledger_name(self._ledger_id)} has failed ({slot.error}), and "
                    f"there is no other: from entry {slot.lacks_from} on the ledger has a copy less"
                )

    async def _replace_all(self, broken: Mapping[int, BookieId]) -> NotEnoughBookies | None:
        """Replace the ``broken`` bookies together, or as many as possible; return the error of those that remain."""
        try:
            self._adopt(await self._replace(broken, self.last_add_confirmed + 1, self._avoided()))
        except NotEnoughBookies as error:
            if len(broken) > 1:
                for index, bookie_id in broken.items():
                    await self._replace_all({index: bookie_id})
            return error
        return None

    def _adopt(self, ensemble: Sequence[BookieId]) -> None:
        """Give changed slots their new bookies, which get the pending entries, and drop the old bookies' replies."""
        if self.error is not None:
            return
        changed = 0
        for index, bookie_id in enumerate(ensemble):
            former = self._slots[index]
            if former.bookie_id != bookie_id:
                former.replaced = True
                self._slots[index] = self._slot(index, bookie_id)
                changed |= former.bit
        self._arrange()
        self.fragment_start = self.last_add_confirmed + 1
        self._lacking = {each: first for each, first in self._lacking.items() if first < self.fragment_start}
        self._send_again(changed)

    def _too_few(self, shortage: NotEnoughBookies | None) -> BookKeeperError:
        """Return the error that too few bookies work, with the reason of each bookie that fails."""
        failed = [slot for slot in self._slots if slot.error is not None]
        scopes = any(isinstance(slot.error, LedgerScopeNotSupported) for slot in failed)
        reasons = "; ".join(f"{slot.bookie_id}: {slot.error}" for slot in failed)
        text = f"too many bookies of ledger {ledger_name(self._ledger_id)} fail and cannot be replaced ({reasons})"
        return (LedgerScopeNotSupported if scopes else NotEnoughBookies)(f"{text}; {shortage or 'start more bookies'}")

    def _slot(self, index: int, bookie_id: BookieId) -> Slot:
        return Slot(index, bookie_id, self._context.channel(bookie_id, self._ledger_id))

    def _arrange(self) -> None:
        self._write_slots = [tuple(self._slots[index] for index in each) for each in self._quorum.write_sets]

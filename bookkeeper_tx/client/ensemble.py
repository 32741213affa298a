"""Choosing the bookies that store a ledger: for one of a scope other than 0, among those that know scopes (BP-34)."""

from collections.abc import Awaitable, Callable, Collection, Mapping

from bookkeeper_tx.client.capability import Capability
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.errors import BookieUnavailable, LedgerScopeNotSupported, NotEnoughBookies
from bookkeeper_tx.model import BookieId
from protocol_specs.ledger_id import split
from protocol_specs.metadata.bookie import LEDGER_SCOPE_ID


async def choose_ensemble(context: ClientContext, size: int, scope_id: int) -> tuple[BookieId, ...]:
    """Return the ensemble of a new ledger.  Raises NotEnoughBookies, or LedgerScopeNotSupported if scopes are why."""
    lacking: set[BookieId] = set()
    try:
        return await _able(context, scope_id, lacking, lambda: context.bookies.choose(size, lacking))
    except NotEnoughBookies as error:
        if not lacking:
            raise
        raise LedgerScopeNotSupported(f"scope {scope_id}: {_without(lacking, error)}") from error


async def replace_bookies(
    context: ClientContext,
    ledger_id: int,
    ensemble: tuple[BookieId, ...],
    broken: Mapping[int, BookieId],
    avoided: Collection[BookieId],
) -> tuple[BookieId, ...]:
    """Return ``ensemble`` with others than ``avoided`` at the indices of ``broken``.  Raises NotEnoughBookies."""
    lacking: set[BookieId] = set()

    def choose() -> Awaitable[tuple[BookieId, ...]]:
        return context.bookies.replace(ensemble, broken, {*avoided, *lacking})

    try:
        return await _able(context, split(ledger_id)[0], lacking, choose, kept=ensemble)
    except NotEnoughBookies as error:
        if not lacking:
            raise
        raise NotEnoughBookies(_without(lacking, error)) from error


async def _able(
    context: ClientContext,
    scope_id: int,
    lacking: set[BookieId],
    choose: Callable[[], Awaitable[tuple[BookieId, ...]]],
    kept: Collection[BookieId] = (),
) -> tuple[BookieId, ...]:
    """Choose until no bookie that is not in ``kept`` lacks scopes; ``lacking`` gets those that do."""
    while True:
        ensemble = await choose()
        if not scope_id:
            return ensemble
        fresh = set(ensemble) - set(kept)
        unable = {bookie_id for bookie_id in fresh if await _lacks_scopes(context, bookie_id)}
        if not unable:
            return ensemble
        lacking |= unable


def _without(lacking: Collection[BookieId], error: NotEnoughBookies) -> str:
    return f"{', '.join(sorted(lacking))} know no ledger scopes (BP-34), and without them {error}"


async def _lacks_scopes(context: ClientContext, bookie_id: BookieId) -> bool:
    known = context.scopes.of(bookie_id, context.channels.channel(bookie_id).interruptions)
    if known in (Capability.SERVES, Capability.LACKS):
        return known is Capability.LACKS
    try:
        extensions = (await context.store.bookie_info(bookie_id)).extensions
    except BookieUnavailable:
        return False  # whoever sends to it will find out, and replace it
    return extensions is not None and LEDGER_SCOPE_ID not in extensions

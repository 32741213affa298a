"""Choosing the bookies that store a ledger: for one of a scope other than 0, among those that know scopes (BP-34)."""

from collections.abc import Awaitable, Callable, Collection, Mapping

from twisted.internet.defer import Deferred

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.errors import BookKeeperError, LedgerScopeNotSupported, NotEnoughBookies
from bookkeeper_tx.model import BookieId
from protocol_specs.ledger_id import join, split

ANY_LEDGER = 0
"""The ledger of a scope that a bookie is asked for to find out whether it knows scopes; there need be none."""


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
        unable = {bookie_id for bookie_id in fresh if await _lacks_scopes(context, bookie_id, scope_id)}
        if not unable:
            return ensemble
        lacking |= unable


def _without(lacking: Collection[BookieId], error: NotEnoughBookies) -> str:
    return f"{', '.join(sorted(lacking))} know no ledger scopes (BP-34), and without them {error}"


async def _lacks_scopes(context: ClientContext, bookie_id: BookieId, scope_id: int) -> bool:
    """Tell whether a bookie is known to lack scopes, by now: one that publishes nothing is asked."""
    found: Deferred[bool] = Deferred()

    def done(error: BookKeeperError | None, _: None) -> None:
        # With another error it cannot be told: whoever sends to it will find out, and replace it.
        found.callback(isinstance(error, LedgerScopeNotSupported))

    context.scoped_channel(bookie_id, join(scope_id, ANY_LEDGER)).find_out(done)
    return await found

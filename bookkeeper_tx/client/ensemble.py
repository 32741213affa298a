"""Choosing the bookies of a ledger; those of a scope other than 0 need bookies that know scopes (BP-34)."""

from collections.abc import Awaitable, Callable, Collection, Mapping

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import BookKeeperError, LedgerScopeNotSupported, NotEnoughBookies
from bookkeeper_tx.model import BookieId
from protocol_specs.ledger_id import join, split

ANY_LEDGER = 0
"""Ledger id of the probe whether a bookie knows scopes; such a ledger need not exist."""


async def choose_ensemble(context: ClientContext, size: int, scope_id: int) -> tuple[BookieId, ...]:
    """Return the ensemble of a new ledger.

    Raises NotEnoughBookies, or LedgerScopeNotSupported if there are enough bookies but too few know scopes.
    """
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
    """Return ``ensemble`` with other bookies, none of ``avoided``, in place of ``broken``.  Raises NotEnoughBookies."""
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
    """Choose until every bookie outside ``kept`` knows scopes; add those that do not to ``lacking``."""
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
    """Return whether a bookie surely knows no scopes; a bookie that publishes nothing is probed."""
    found: Promise[bool] = context.driver.promise()

    def done(error: BookKeeperError | None, _: None) -> None:
        # Another error leaves that open.  The writer's first add to the bookie finds out, and the bookie is replaced.
        found.callback(isinstance(error, LedgerScopeNotSupported))

    context.scoped_channel(bookie_id, join(scope_id, ANY_LEDGER)).find_out(done)
    return await found

"""What a bookie publishes of itself, for requests that cannot wait: bookies serve while the metadata store is away."""

from collections.abc import Callable
from typing import Any

from bookkeeper_tx.driver import Driver
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieId, BookieServiceInfo
from bookkeeper_tx.transport.last_known_address import PATIENCE_S


def ask_published(
    driver: Driver, store: ClientMetadataStore, bookie_id: BookieId, told: Callable[[BookieServiceInfo | None], None]
) -> None:
    """Call ``told`` with what the store has of a bookie; with None, in time, if it does not tell."""
    waiting = [told]

    def tell(info: BookieServiceInfo | None) -> None:
        if waiting:
            waiting.pop()(info)

    def answered(error: Exception | None, info: Any) -> None:
        if waiting:
            patience.cancel()
        tell(None if error is not None else info)

    patience = driver.clock.callLater(PATIENCE_S, tell, None)
    driver.when_done(store.bookie_info(bookie_id), answered)

"""The registration of a bookie with the metadata store: clients find its address there, and whether it is writable."""

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import BookieIdInUse
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId, BookieServiceInfo
from protocol_specs.metadata import bookie as spec

RETRY_DELAY_S = 5.0
"""Seconds between a failed change of the registration and the next attempt."""

log = Logger()


def advertised(config: BookieConfig, serves_tls: bool = False) -> frozenset[str]:
    """Return the extensions that a bookie of this configuration publishes.

    A bookie that imitates an old release publishes only TLS, as that release does.
    """
    own = () if config.wire_compat else (spec.LEDGER_SCOPE_ID, spec.BATCH_READ_V3)
    return frozenset([*own, *([spec.TLS] if serves_tls else [])])


class Registration:
    """Keeps the registration, once :meth:`start` has made it, equal to ``availability``.

    ``lost(error)`` is called when another process has taken the bookie's id.
    """

    def __init__(
        self,
        clock: IReactorTime,
        store: MetadataStore,
        bookie_id: BookieId,
        info: BookieServiceInfo,
        availability: Availability,
        lost: Callable[[BaseException], None],
    ) -> None:
        self._clock = clock
        self._store = store
        self._bookie_id = bookie_id
        self._info = info
        self._availability = availability
        self._lost = lost
        self._retry: IDelayedCall | None = None
        self._changing = False
        self._outdated = False

    def start(self) -> Deferred[None]:
        """Register; fires when clients can see it.  Fails with BookieIdInUse or MetadataUnavailable.

        It may take as long as the session of the process before; what changes meanwhile is told after it.
        """
        self._availability.changed = self._change
        self._changing, self._outdated = True, False
        return self._register().addCallbacks(self._changed, self._not_started)

    def _not_started(self, failure: Failure) -> Failure:
        self._changing = False
        return failure

    def stop(self) -> Deferred[None]:
        """Unregister; fires when that is done, and fails if it is not possible."""
        self._availability.changed = lambda: None
        self._outdated = False
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        done: Deferred[None] = self._store.unregister_bookie(self._bookie_id)
        return done

    def _register(self) -> Deferred[None]:
        done: Deferred[None] = self._store.register_bookie(
            self._bookie_id, self._info, read_only=self._availability.read_only, lost=self._lost
        )
        return done

    def _change(self) -> None:
        if self._changing:
            self._outdated = True
        elif self._retry is None:
            self._changing, self._outdated = True, False
            read_only = self._availability.read_only
            log.info("registering as {mode}", mode="read-only" if read_only else "writable")
            self._register().addCallbacks(self._changed, self._not_changed)

    def _changed(self, _: object) -> None:
        self._changing = False
        if self._outdated:
            self._change()

    def _not_changed(self, failure: Failure) -> None:
        self._changing = False
        if isinstance(failure.value, BookieIdInUse):
            self._lost(failure.value)
            return
        log.error("cannot change the registration, trying again: {error}", error=failure.value)
        self._retry = self._clock.callLater(RETRY_DELAY_S, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self._change()

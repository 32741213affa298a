"""The ledgers that the options name, as the metadata store has them."""

import logging
from collections.abc import Iterable, Mapping

from attrs import frozen

from bookkeeper_tx.errors import BookKeeperError, NoSuchLedger
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import LedgerId, LedgerMetadata, Versioned, ledger_name
from bookkeeper_tx.spark.options.option import LedgerSpan
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.sink.manifest import read_manifest
from protocol_specs.ledger_id import SCOPED_MIN

log = logging.getLogger(__name__)


@frozen
class SelectedLedger:
    """A ledger that is to be looked at."""

    ledger_id: int
    versioned: Versioned

    @property
    def metadata(self) -> LedgerMetadata:
        return self.versioned.metadata


@frozen
class Selection:
    """The ledgers that were chosen."""

    ledgers: tuple[SelectedLedger, ...]
    lost: Mapping[int, BookKeeperError]
    """Ledgers that were named and do not exist, or whose metadata cannot be understood, with the error."""


def select_ledgers(store: BlockingStore, options: Options) -> Selection:
    """Return the ledgers that ``options`` name, in the order of their ids, those of a manifest in that of its epochs.

    If the options name none, they are all of the scope.  Lost ledgers do not raise here: a stream may have read them to
    their end, so the caller decides.  With ``failOnDataLoss=false`` they are logged.
    """
    named, found = chosen_ids(store, options)
    ids = list(dict.fromkeys([*named, *found]))
    if options.manifest is None:
        ids.sort()
    selected, lost = _read(store, ids, frozenset(named))
    if not options.fail_on_data_loss:
        for ledger_id, error in lost.items():
            log.warning("ledger %s is left out: %s", ledger_name(ledger_id), error)
    if options.ledger_metadata:
        wanted = options.ledger_metadata
        chosen = [each for each in selected if has_custom_metadata(each.metadata, wanted)]
        if not chosen:
            _warn_of_tags(selected, wanted, options.scope)
        selected = chosen
    return Selection(tuple(selected), lost)


def _warn_of_tags(ledgers: Iterable[SelectedLedger], wanted: Mapping[str, str], scope_id: int | None) -> None:
    """Log which of the wanted tags no ledger has: most likely it is a typing error, and the answer would be no rows."""
    where = "of any scope" if scope_id is None else f"of scope {scope_id}"
    absent = dict(wanted)
    for each in ledgers:
        absent = {key: value for key, value in absent.items() if not has_custom_metadata(each.metadata, {key: value})}
        if not absent:
            break
    for key, value in absent.items():
        log.warning("option ledgerMetadata.%s = %r: no ledger %s has this custom metadata", key, value, where)
    if not absent:
        names = " and ".join(f"ledgerMetadata.{key}" for key in wanted)
        log.warning("options %s: no ledger %s has all of this custom metadata", names, where)


def chosen_ids(store: BlockingStore, options: Options) -> tuple[list[int], list[int]]:
    """Return the ledgers that must exist, and those that exist."""
    if options.ledger is not None:
        return [in_scope(options.ledger, options.scope)], []
    if options.manifest is not None:
        return _published(store, options.manifest), []
    if options.ledgers is None:
        return [], store.list_ledgers(options.scope)
    spans = [(in_scope(first, options.scope), last, first) for first, last in options.ledgers]
    named = [first for first, last, raw in spans if last == raw]
    ranges = [(raw, last) for _, last, raw in spans if last != raw]
    listed = store.list_ledgers(options.scope) if ranges else []
    return named, [each for each in listed if _is_in(each, ranges, options.scope)]


def _published(store: BlockingStore, sink_id: str) -> list[int]:
    epochs = read_manifest(store, sink_id)
    if not epochs:
        log.warning("sink %s has published nothing so far", sink_id)
    return [ledger.ledger_id for _, ledgers in epochs for ledger in ledgers]


def in_scope(ledger_id: int, scope_id: int | None) -> int:
    """Return the ledger of a number in a scope; an id with a scope of its own, or scope None, leaves it as it is."""
    return LedgerId(ledger_id, scope_id) if scope_id and ledger_id < SCOPED_MIN else ledger_id


def _is_in(ledger_id: int, ranges: Iterable[LedgerSpan], scope_id: int | None) -> bool:
    return any(
        in_scope(first, scope_id) <= ledger_id and (last is None or ledger_id <= in_scope(last, scope_id))
        for first, last in ranges
    )


def _read(
    store: BlockingStore, ids: Iterable[int], named: frozenset[int]
) -> tuple[list[SelectedLedger], dict[int, BookKeeperError]]:
    selected: list[SelectedLedger] = []
    lost: dict[int, BookKeeperError] = {}
    for ledger_id, found in store.read_ledgers(ids):
        if isinstance(found, Versioned):
            selected.append(SelectedLedger(ledger_id, found))
        elif ledger_id in named or not isinstance(found, NoSuchLedger):
            lost[ledger_id] = found
        # Any other ledger was deleted since it was listed, and the options do not name it.
    return selected, lost


def lost_ledgers(lost: Mapping[int, BookKeeperError]) -> BookKeeperError:
    """Return the error for ledgers that cannot be read, of which there is at least one."""
    ledger_id, error = next(iter(lost.items()))
    more = f" (and {len(lost) - 1} more like it)" if len(lost) > 1 else ""
    return type(error)(
        f"ledger {ledger_name(ledger_id)}{more}: {str(error).rstrip('.')}; take it out of the options, "
        "or give failOnDataLoss=false to read what there is."
    )


def has_custom_metadata(metadata: LedgerMetadata, wanted: Mapping[str, str]) -> bool:
    """Return whether each wanted key has the wanted value; Spark hands over keys in small letters."""
    held = {key.lower(): value for key, value in metadata.custom_metadata.items()}
    return all(held.get(key.lower()) == value.encode() for key, value in wanted.items())

"""The entries to read: ledgers as they were at one moment, and the entries that a query wants of them."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from attrs import evolve, field, frozen

from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    DigestMismatch,
    InvalidArgument,
    InvalidConfig,
    LedgerScopeNotSupported,
    Unauthorized,
)
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.metadata.service_info import parse
from bookkeeper_tx.model import BookieId, BookieServiceInfo, DigestType, LedgerId, LedgerMetadata, ledger_name
from bookkeeper_tx.spark.bookies.last_add_confirmed import LastConfirmed
from bookkeeper_tx.spark.bookies.recover import recover_ledger
from bookkeeper_tx.spark.options.channels import channels_to
from bookkeeper_tx.spark.options.client_config import client_config
from bookkeeper_tx.spark.options.metadata_store import open_store
from bookkeeper_tx.spark.options.offsets import Offsets
from bookkeeper_tx.spark.options.options import Options, ReadMode
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.filters import EntryFilter
from bookkeeper_tx.spark.plan.last_confirmed import last_confirmed
from bookkeeper_tx.spark.plan.ledger_selection import SelectedLedger, lost_ledgers, select_ledgers
from bookkeeper_tx.spark.plan.partitions import SizedRange
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from protocol_specs.ledger_id import SCOPED_MIN
from protocol_specs.metadata.bookie import LEDGER_SCOPE_ID

log = logging.getLogger(__name__)


@frozen
class KnownLedger:
    """A ledger as it was when it was looked at."""

    ledger_id: int
    metadata: LedgerMetadata
    """Without password and custom metadata, and always with a digest type."""
    end: int
    """The entry id after the last that can be read; 0 if there is none."""
    open_entry_bytes: float = 0.0
    """Payload bytes of an entry on average, from the newest entry of an open ledger; 0 if that is not known."""

    @property
    def closed(self) -> bool:
        return self.metadata.closed

    @property
    def entry_bytes(self) -> float:
        """Payload bytes of an entry on average; 0 if that is not known."""
        if not self.closed:
            return self.open_entry_bytes
        return self.metadata.length / self.end if self.end else 0.0

    def entries(self, first: int, last: int) -> LedgerRange:
        """Return the range of the entries ``first`` … ``last``."""
        return LedgerRange.of_metadata(self.ledger_id, self.metadata, first, last)


@frozen
class Snapshot:
    """The ledgers of a query, fixed when it was first planned: a second plan reads the same entries."""

    ledgers: tuple[KnownLedger, ...]
    bookies: Mapping[BookieId, BookieServiceInfo]
    """The bookies of these ledgers; a bookie without a known address is left out."""
    lost: Mapping[int, BookKeeperError] = field(factory=dict)
    """Ledgers that were named and cannot be read, with the error of the metadata store."""

    def check_lost(self, options: Options) -> None:
        """Raise NoSuchLedger or MetadataCorrupt if a ledger is lost, unless ``failOnDataLoss`` is false."""
        if self.lost and options.fail_on_data_loss:
            raise lost_ledgers(self.lost)


def take_snapshot(options: Options, password: Secret) -> Snapshot:
    """Look at the ledgers that ``options`` select, and at the end of those that are open; change nothing.

    A lost ledger is no error yet: a stream that has read it to its end does not need it.  Raises Unauthorized (wrong
    password), InvalidConfig, and the errors of the metadata store and of the bookies of open ledgers.
    """
    with open_store(options) as store:
        found = select_ledgers(store, options)
        selected = list(found.ledgers)
        for each in selected:
            check_password(each, password, options.digest_type)
        if options.read_mode is ReadMode.CLOSED:
            selected = [each for each in selected if each.metadata.closed]
        bookies = bookies_of(store, (each.metadata for each in selected))
    _check_scope_support(selected, bookies)
    open_ledgers = [each for each in selected if not each.metadata.closed]
    ends = _ends_of_open(open_ledgers, bookies, options, password)
    known = (_known(each.ledger_id, each.metadata, options.digest_type, ends.get(each.ledger_id)) for each in selected)
    return Snapshot(tuple(known), bookies, found.lost)


def check_password(ledger: SelectedLedger, password: Secret, digest_type: DigestType | None) -> None:
    """Raise Unauthorized, DigestMismatch or InvalidConfig if the ledger cannot be read with these."""
    metadata, name = ledger.metadata, ledger_name(ledger.ledger_id)
    if metadata.digest_type is None:
        if digest_type is None:
            raise InvalidConfig(f"ledger {name}: its metadata names no digest type, so give option digestType")
        return
    if metadata.password is not None and metadata.password != password.value:
        text = f"ledger {name}: wrong password; option passwordFile names the file with the right one"
        raise Unauthorized(text if password.value else f"{text} (it is not given, so no password was tried)")
    if digest_type is not None and digest_type is not metadata.digest_type:
        raise DigestMismatch(
            f"ledger {name} is protected by {metadata.digest_type.name}, option digestType says {digest_type.name}: "
            "leave the option out"
        )


def recovered(snapshot: Snapshot, options: Options, password: Secret) -> Snapshot:
    """Close the ledgers that are open, which fences their writers, and return the ledgers as they are then."""
    if all(each.closed for each in snapshot.ledgers):
        return snapshot
    ledgers = tuple(each if each.closed else _recovered(each, options, password) for each in snapshot.ledgers)
    with open_store(options) as store:
        return evolve(snapshot, ledgers=ledgers, bookies=bookies_of(store, (each.metadata for each in ledgers)))


def _recovered(ledger: KnownLedger, options: Options, password: Secret) -> KnownLedger:
    digest_type = ledger.metadata.digest_type
    assert digest_type is not None  # a known ledger has one
    metadata = recover_ledger(
        options.metadata_service_uri, ledger.ledger_id, password.value, digest_type, config=client_config(options)
    )
    return _known(ledger.ledger_id, metadata, digest_type)


def bookies_of(store: BlockingStore, ledgers: Iterable[LedgerMetadata]) -> dict[BookieId, BookieServiceInfo]:
    """Return the service info of the bookies of ``ledgers``; the id of an unregistered one may be its address."""
    wanted = {bookie for each in ledgers for fragment in each.fragments for bookie in fragment.ensemble}
    found: dict[BookieId, BookieServiceInfo] = {}
    for bookie in sorted(wanted):
        try:
            found[bookie] = store.bookie_info(bookie)
        except BookieUnavailable as error:
            log.warning("%s", error)
            with suppress(BookieUnavailable):
                found[bookie] = parse(b"", bookie)
    return found


def _check_scope_support(ledgers: Iterable[SelectedLedger], bookies: Mapping[BookieId, BookieServiceInfo]) -> None:
    """Raise LedgerScopeNotSupported if a bookie would take a ledger for the one of scope 0 with the same lower half."""
    for each in ledgers:
        if each.ledger_id < SCOPED_MIN:
            continue
        for bookie in {bookie for fragment in each.metadata.fragments for bookie in fragment.ensemble}:
            info = bookies.get(bookie)
            if info is not None and info.extensions is not None and LEDGER_SCOPE_ID not in info.extensions:
                raise LedgerScopeNotSupported(
                    f"ledger {ledger_name(each.ledger_id)} is of a scope, and bookie {bookie} does not know scopes"
                )


def _ends_of_open(
    ledgers: Sequence[SelectedLedger],
    bookies: Mapping[BookieId, BookieServiceInfo],
    options: Options,
    password: Secret,
) -> dict[int, LastConfirmed]:
    """Return the end of each open ledger, as its bookies give it."""
    with channels_to(bookies, options) as channels:
        found = last_confirmed(channels, ledgers, options, password)
    return {each.ledger_id: last for each, last in zip(ledgers, found, strict=True)}


def _known(
    ledger_id: int, metadata: LedgerMetadata, digest_type: DigestType | None, last: LastConfirmed | None = None
) -> KnownLedger:
    bare = evolve(metadata, password=b"", custom_metadata={}, digest_type=metadata.digest_type or digest_type)
    if last is None:
        return KnownLedger(ledger_id, bare, metadata.last_entry_id + 1)
    seen = last.newest_entry_id + 1
    return KnownLedger(ledger_id, bare, last.entry_id + 1, last.length / seen if seen else 0.0)


def wanted_ranges(snapshot: Snapshot, options: Options, wanted: EntryFilter) -> Iterator[SizedRange]:
    """Yield the ranges to read of each ledger, between the offsets and as the filter says.

    Raises InvalidConfig for an offset of a ledger that is not selected, or after the end of its ledger; with
    ``failOnDataLoss=false`` the latter is only logged.
    """
    starts = options.starting_offsets
    ends = options.ending_offsets
    _check_named(snapshot, starts, "startingOffsets")
    _check_named(snapshot, ends, "endingOffsets")
    for each in snapshot.ledgers:
        first = _resolved(each, starts, "startingOffsets", options, 0)
        end = _resolved(each, ends, "endingOffsets", options, each.end)
        for low, high in wanted.spans(each.ledger_id, first, end - 1):
            yield SizedRange(each.entries(low, high), each.entry_bytes)


def _check_named(snapshot: Snapshot, offsets: Offsets | None, name: str) -> None:
    there = {int(each.ledger_id) for each in snapshot.ledgers}.union(map(int, snapshot.lost))
    strange = [] if offsets is None else sorted(set(offsets.of_ledger) - there)
    if strange:
        names = ", ".join(ledger_name(each) for each in strange)
        raise InvalidConfig(f"option {name} names ledger {names}, which is not among those to be read: leave it out")


def _resolved(ledger: KnownLedger, offsets: Offsets | None, name: str, options: Options, default: int) -> int:
    if offsets is None:
        return default
    found = offsets.resolved(ledger.ledger_id, ledger.end)
    if found <= ledger.end:
        return found
    text = (
        f"option {name}: ledger {ledger_name(ledger.ledger_id)} is asked for up to offset {found}, "
        f"but {'it ends' if ledger.closed else 'what is confirmed ends'} at {ledger.end}"
    )
    if options.fail_on_data_loss:
        raise InvalidConfig(f"{text}: write a smaller one, or give failOnDataLoss=false to read what there is")
    log.warning("%s", text)
    return ledger.end


def check_scopes(snapshot: Snapshot, has_scope_column: bool) -> None:
    """Raise InvalidArgument if rows of different ledgers would be indistinguishable."""
    scopes = {LedgerId(each.ledger_id).scope_id for each in snapshot.ledgers}
    if len(scopes) > 1 and not has_scope_column:
        raise InvalidArgument(
            "the ledgers are of more than one scope, and ledger_id is only the lower half of their ids: "
            "give includeScope=true"
        )

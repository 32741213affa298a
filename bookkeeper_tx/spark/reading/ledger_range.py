"""A range of entries of one ledger, with all that a reader needs to read it."""

from collections.abc import Iterable

from attrs import field, frozen

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata, ledger_name
from bookkeeper_tx.quorums.quorum import Quorum


def _fragments(values: Iterable[Fragment]) -> tuple[Fragment, ...]:
    return tuple(values)


@frozen
class LedgerRange:
    """The entries ``first`` … ``last``, both included, of a ledger; picklable, and without its password.

    Raises InvalidArgument unless ``0 <= first <= last`` and the fragments reach down to ``first``.
    """

    ledger_id: int
    first: int
    last: int
    fragments: tuple[Fragment, ...] = field(converter=_fragments)
    """Those of the metadata that hold the range, or all of them."""
    ensemble_size: int
    write_quorum_size: int
    ack_quorum_size: int
    digest_type: DigestType | None = None
    """None if the metadata does not have it: the reader must be given it."""

    def __attrs_post_init__(self) -> None:
        name = ledger_name(self.ledger_id)
        if not 0 <= self.first <= self.last:
            raise InvalidArgument(f"ledger {name}: {self.first} … {self.last} is no range of entries")
        if not self.fragments or self.fragments[0].first_entry_id > self.first:
            raise InvalidArgument(f"ledger {name}: no fragment holds entry {self.first}")

    @classmethod
    def of_metadata(cls, ledger_id: int, metadata: LedgerMetadata, first: int, last: int) -> "LedgerRange":
        """Return the range ``first`` … ``last`` of a ledger with this metadata, with the fragments that hold it."""
        starts = [fragment.first_entry_id for fragment in metadata.fragments]
        ends = [*starts[1:], last + 1]
        fragments = [
            fragment
            for fragment, start, end in zip(metadata.fragments, starts, ends, strict=True)
            if start <= last and end > first
        ]
        return cls(
            ledger_id,
            first,
            last,
            fragments,
            metadata.ensemble_size,
            metadata.write_quorum_size,
            metadata.ack_quorum_size,
            metadata.digest_type,
        )

    @property
    def count(self) -> int:
        """The number of entries."""
        return self.last - self.first + 1

    @property
    def quorum(self) -> Quorum:
        return Quorum.of(self)

"""The record of an election in the metadata store: who leads, and for how long without a sign of life."""

import math
from typing import Any, Final

from attrs import asdict, evolve, field, frozen

from bookkeeper_tx.errors import InvalidArgument, MetadataCorrupt
from bookkeeper_tx.replicated_log.json_record import packed, unpacked

ELECTIONS = "log-elections"
"""Below it is a record for each election, by its name.

It is never deleted, so that its version only grows: whoever sleeps while others lead finds another version.
"""

LEASE_S = 10.0
"""The lease of who names none."""

LEASE_S_MIN, LEASE_S_MAX = 1.0, 3600.0

LOOKS_A_LEASE: Final = 10
"""How often candidates and leader look how things are, in the time of their lease."""

LOOK_S_MAX: Final = 1.0
"""Seconds from one look to the next at most."""

CANDIDATE_LENGTH_MAX = 255
"""Characters of what a candidate is called."""


def _check_candidate(_record: Any, _field: Any, candidate: Any) -> None:
    if not isinstance(candidate, str) or not 0 < len(candidate) <= CANDIDATE_LENGTH_MAX or not candidate.isprintable():
        text = f"candidate {candidate!r} must be printable text of 1 to {CANDIDATE_LENGTH_MAX} characters"
        raise InvalidArgument(text)


def _check_lease(_record: Any, _field: Any, lease_s: Any) -> None:
    if not isinstance(lease_s, (int, float)) or math.isnan(lease_s) or not LEASE_S_MIN <= lease_s <= LEASE_S_MAX:
        raise InvalidArgument(f"lease_s {lease_s!r} must be a number from {LEASE_S_MIN:g} to {LEASE_S_MAX:g}")


@frozen
class ElectionRecord:
    """Who leads.  Each time it is written it has another version, and other bytes, which is the sign of life."""

    token: str
    """Tells this candidate from all others, also from one that is called the same."""
    candidate: str = field(validator=_check_candidate)
    """What it is called, for people."""
    lease_s: float = field(validator=_check_lease)
    """Seconds without a sign of life after which another may lead."""
    signs: int = 0
    """How often it was written."""
    resigned: bool = False
    """Whether it leads no longer, and said so."""

    @property
    def look_s(self) -> float:
        """Seconds from one look of this candidate to the next."""
        return min(self.lease_s / LOOKS_A_LEASE, LOOK_S_MAX)

    def signed(self, resigned: bool = False) -> "ElectionRecord":
        """Return the next sign of life, or the last."""
        return evolve(self, signs=self.signs + 1, resigned=resigned)

    def serialize(self) -> bytes:
        """Return the bytes of this record."""
        return packed(asdict(self))

    @classmethod
    def parse(cls, record: bytes, name: str) -> "ElectionRecord":
        """Return what a record says; raises MetadataCorrupt."""
        try:
            return cls(**unpacked(record))
        except (ValueError, TypeError, KeyError, InvalidArgument) as error:
            raise MetadataCorrupt(f"the record of election {name} cannot be understood: {error!r}") from error

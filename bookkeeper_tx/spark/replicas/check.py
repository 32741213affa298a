"""The check of a bookie's copies: which are present and match their digests, and a hash to compare them by."""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from attrs import define, field

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_format import format_of
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError, DigestMismatch, NoSuchEntry, NoSuchLedger, StorageFailed
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.spark.reading.verified_count import verified_count
from bookkeeper_tx.spark.replicas.copies import Absent

RANGES_MAX: Final = 1000
"""The most ranges of missing entries, and the most corrupt entries, that one row names; more are counted only."""

MISSING = (NoSuchEntry, NoSuchLedger)
"""Answers of a bookie that does not have an entry.  Any other error says nothing about it."""

OK, MISSED, CORRUPT, STORAGE_FAILED, UNKNOWN = "ok", "missing", "corrupt", "storage-failed", "unknown"

_ID_SIZE = 8


def judged(digest: EntryDigest, run: EntryRun) -> Iterator[tuple[EntryRun, DigestMismatch | None]]:
    """Give the entries of ``run`` in order: runs of good ones, and each bad one by itself with its error."""
    good = verified_count(digest, run)
    if good:
        yield run.part(run.first_entry_id, run.first_entry_id + good - 1), None
    # Where one is bad, others often are: each is looked at once.
    for entry_id in range(run.first_entry_id + good, run.last_entry_id + 1):
        yield run.part(entry_id, entry_id), mismatch_of(digest, run, entry_id)


def mismatch_of(digest: EntryDigest, run: EntryRun, entry_id: int) -> DigestMismatch | None:
    """Return the error of a corrupt entry, None for a good one."""
    try:
        digest.verify(run.ledger_id, entry_id, run.entry(entry_id))
    except DigestMismatch as error:
        return error
    return None


def is_missing(error: BookKeeperError) -> bool:
    """Return whether the bookie has said that it does not have the entry."""
    return isinstance(error, MISSING)


def is_storage_failure(error: BookKeeperError) -> bool:
    """Return whether the bookie has said that it cannot read the entry from its disk."""
    return isinstance(error, StorageFailed)


class ContentHash:
    """A hash of entries: of id, length of the ledger so far and payload of each.

    The last add confirmed is left out, and with it the digest, which covers it.  A client that recovers a ledger writes
    its last entries anew with another last add confirmed, and only to the bookies that answer.
    """

    def __init__(self, ledger_id: int, payload_offset: int) -> None:
        metadata = format_of(ledger_id).metadata
        self._payload_at = payload_offset
        self._parts = [(at, at + _ID_SIZE) for at in (metadata.offsets["entry_id"], metadata.offsets["length"])]
        self._hash = hashlib.sha256()

    def add(self, run: EntryRun) -> None:
        """Add the entries, good or bad; an entry too short for a payload is added whole."""
        offsets, ahead = run.offsets, run.prefix
        if type(offsets) is range and offsets.step >= ahead + self._payload_at:
            size = offsets.step * run.count
            rows = np.frombuffer(run.buffer, np.uint8, size, offsets.start).reshape(run.count, offsets.step)[:, ahead:]
            columns = [*(rows[:, first:end] for first, end in self._parts), rows[:, self._payload_at :]]
            self._hash.update(np.concatenate(columns, axis=1).tobytes())
            return
        pieces: list[bytes] = []
        for entry in run:
            if len(entry) < self._payload_at:
                pieces.append(entry)
            else:
                pieces += [entry[first:end] for first, end in self._parts]
                pieces.append(entry[self._payload_at :])
        self._hash.update(b"".join(pieces))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


@define(eq=False)
class Tally:
    """The findings about one bookie's copies of the entries ``entry_ids``."""

    ledger_id: int
    entry_ids: range
    digest: EntryDigest
    present: int = 0
    """Entries that the bookie has sent, good or corrupt."""
    missing: int = 0
    corrupt: int = 0
    storage_failed: int = 0
    """Entries that the bookie has answered about: it could not read them from its disk."""
    unknown: int = 0
    """Entries that the bookie gave no answer about, or that could not be asked for."""
    size: int = 0
    """Bytes of those that are present, as they are stored."""
    missing_ranges: list[tuple[int, int]] = field(factory=list)
    """First and last id; between them lie entries of this stripe only."""
    corrupt_entries: list[int] = field(factory=list)
    errors: list[str] = field(factory=list)
    """The first error of each kind."""
    content: ContentHash = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.content = ContentHash(self.ledger_id, self.digest.payload_offset_of(self.ledger_id))

    def add(self, found: EntryRun | Absent) -> None:
        """Count the next entries."""
        if isinstance(found, EntryRun):
            self._add_run(found)
        elif is_missing(found.error):
            self._add_missing(found.entry_ids)
            self._say(MISSED, found.error)
        elif is_storage_failure(found.error):
            self.storage_failed += len(found.entry_ids)
            self._say(STORAGE_FAILED, found.error)
        else:
            self.unknown += len(found.entry_ids)
            self._say(UNKNOWN, found.error)

    @property
    def verdict(self) -> str:
        """The worst state of any of the entries; UNKNOWN if some are unknown and the others are good."""
        counts = (
            (CORRUPT, self.corrupt),
            (MISSED, self.missing),
            (STORAGE_FAILED, self.storage_failed),
            (UNKNOWN, self.unknown),
        )
        return next((verdict for verdict, count in counts if count), OK)

    def values(self) -> dict[str, Any]:
        """Return the columns of a row."""
        return {
            "expected": len(self.entry_ids),
            "present": self.present,
            "missing": self.missing,
            "corrupt": self.corrupt,
            "storage_failed": self.storage_failed,
            "unknown": self.unknown,
            "verdict": self.verdict,
            "missing_ranges": [{"first": first, "last": last} for first, last in self.missing_ranges],
            "corrupt_entries": self.corrupt_entries,
            "bytes": self.size,
            "sha256": self.content.hexdigest() if self.present else None,
            "error": "; ".join(self.errors) or None,
        }

    def _add_run(self, run: EntryRun) -> None:
        self.present += run.count
        self.size += run.size - run.prefix * run.count
        self.content.add(run)
        for part, error in judged(self.digest, run):
            if error is None:
                continue
            self.corrupt += 1
            if len(self.corrupt_entries) < RANGES_MAX:
                self.corrupt_entries.append(part.first_entry_id)
            self._say(CORRUPT, error)

    def _add_missing(self, entry_ids: range) -> None:
        self.missing += len(entry_ids)
        ranges = self.missing_ranges
        if ranges and ranges[-1][1] == entry_ids[0] - self.entry_ids.step:
            ranges[-1] = ranges[-1][0], entry_ids[-1]
        elif len(ranges) < RANGES_MAX:
            ranges.append((entry_ids[0], entry_ids[-1]))

    def _say(self, sort: str, error: BookKeeperError) -> None:
        text = f"{sort}: {error}"
        if not any(each.startswith(f"{sort}:") for each in self.errors):
            self.errors.append(text)

    def __repr__(self) -> str:
        return f"<Tally of ledger {ledger_name(self.ledger_id)}: {self.verdict}>"

"""Entries of which no bookie has a good copy: an error is raised, or they are counted and have a substitute."""

import pytest

from bookkeeper_tx.errors import (
    DigestMismatch,
    EntriesMissing,
    InvalidArgument,
    NoSuchEntry,
)
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun
from tests.spark.bookies.stored_entries import PASSWORD, Site, corrupted, payload_of, sealed
from tests.spark.reading.ledger_reads import KINDS, payloads, read, reader_of


@KINDS
@pytest.mark.parametrize("whole", [True, False])
def test_a_bookie_that_does_not_know_the_ledger_has_lost_its_entries(bookies, write, whole):
    site = Site(bookies)
    site.store(map(sealed, range(3000)), write)
    for bookie in site.bookies if whole else site.bookies[:1]:
        bookie.knows_ledger = False
    if not whole and write > 1:
        assert read(reader_of(site, 0, 2999, write)) == payloads(0, 2999)
        return
    with pytest.raises(EntriesMissing, match="b0: There is no such ledger"):
        read(reader_of(site, 0, 2999, write))
    reader = reader_of(site, 0, 2999, write, fail_on_data_loss=False)
    step = 1 if whole else bookies
    assert read(reader) == {each: payload_of(each) for each in range(3000) if each % step}
    assert reader.missing.count == 3000 // step
    if step == 1:
        assert reader.missing.ranges == [(0, 2999)]


def test_lost_entries_stand_in_their_place():
    site = Site(2)
    site.store(map(sealed, range(10)))
    for bookie in site.bookies:
        del bookie.entries[4]
    parts = list(reader_of(site, 0, 9, fail_on_data_loss=False).parts())
    assert [type(part) for part in parts] == [VerifiedRun, LostEntry, VerifiedRun]
    lost = parts[1]
    assert (lost.ledger_id, lost.entry_id) == (7, 4)
    assert {bookie: type(error) for bookie, error in lost.reasons.items()} == {"b0": NoSuchEntry, "b1": NoSuchEntry}


@KINDS
def test_corrupt_entries_are_given_if_that_is_asked_for(bookies, write):
    site = Site(bookies)
    site.store(map(sealed, range(10)), write)
    for bookie in site.bookies:
        if 4 in bookie.entries:
            bookie.entries[4] = corrupted(bookie.entries[4])
    with pytest.raises(DigestMismatch, match="entry 4 of ledger 7 is corrupt on all"):
        read(reader_of(site, 0, 9, write))
    runs = list(reader_of(site, 0, 9, write, keep_corrupt=True).runs())
    assert [(run.first, run.last) for run in runs if not run.digest_ok] == [(4, 4)]
    bad = next(run for run in runs if not run.digest_ok)
    assert bad.payloads() == [corrupted(payload_of(4))]
    assert [entry_id for run in runs for entry_id in range(run.first, run.last + 1)] == list(range(10))


@KINDS
def test_corrupt_entries_are_lost_if_data_loss_is_not_to_fail(bookies, write):
    site = Site(bookies)
    site.store(map(sealed, range(10)), write)
    for bookie in site.bookies:
        if 4 in bookie.entries:
            bookie.entries[4] = corrupted(bookie.entries[4])
        bookie.entries.pop(6, None)
    reader = reader_of(site, 0, 9, write, fail_on_data_loss=False)
    parts = list(reader.parts())
    lost = [part for part in parts if isinstance(part, LostEntry)]
    assert [each.entry_id for each in lost] == [4, 6]
    assert {type(error) for error in lost[0].reasons.values()} == {DigestMismatch}
    assert (reader.missing.count, reader.missing.corrupt, reader.missing.ranges) == (2, 1, [(4, 4), (6, 6)])
    given = [range(part.first, part.last + 1) for part in parts if isinstance(part, VerifiedRun) and part.digest_ok]
    assert [each for ids in given for each in ids] == [0, 1, 2, 3, 5, 7, 8, 9]


def test_an_entry_that_is_cut_short_is_corrupt():
    site = Site(1)
    site.store(map(sealed, range(10)))
    site.bookies[0].entries[4] = sealed(4)[:20]
    with pytest.raises(DigestMismatch, match="entry 4 of ledger 7 has only 20 bytes"):
        read(reader_of(site, 0, 9, keep_corrupt=True))
    reader = reader_of(site, 0, 9, keep_corrupt=True, fail_on_data_loss=False)
    assert list(read(reader)) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert reader.missing.corrupt == 1


def test_a_wrong_digest_type_is_a_mismatch():
    site = Site(1)
    site.store(map(sealed, range(10)))
    ledger = site.ledger(0, 9)
    for kind in (DigestType.CRC32, DigestType.MAC):
        wrong = type(ledger)(7, 0, 9, ledger.fragments, 1, 1, 1, kind)
        with pytest.raises(DigestMismatch, match="or password or digest type is wrong"):
            read(LedgerReader(site.channels(), wrong, PASSWORD))
    unknown = type(ledger)(7, 0, 9, ledger.fragments, 1, 1, 1, None)
    with pytest.raises(InvalidArgument, match="digest type"):
        LedgerReader(site.channels(), unknown, PASSWORD)

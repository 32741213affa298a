"""The requests in flight while a range is read: enough to keep bookies busy, and never more than a bound."""

import pytest

from bookkeeper_tx.spark.reading.run_reads import FIRST_SINGLES
from tests.spark.bookies.stored_entries import Site, sealed
from tests.spark.reading.ledger_reads import payloads, read, reader_of


def test_the_next_batch_is_on_its_way_before_a_run_is_given_out():
    site = Site(1)
    site.store(map(sealed, range(5000)))
    runs = reader_of(site, 0, 4999, batch_size_max=64 * 100).runs()
    for number, run in enumerate(runs):
        if number > 1 and run.last < 4000:
            assert site.bookies[0].outstanding >= 2
    assert site.bookies[0].outstanding == 0
    assert site.bookies[0].outstanding_max <= 3


@pytest.mark.parametrize("write", [3, 2])
def test_large_entries_are_asked_for_one_at_a_time(write):
    site = Site(3)
    size = 100_000
    site.store((sealed(entry_id, size) for entry_id in range(40)), write)
    assert read(reader_of(site, 0, 39, write, batch=False, batch_size_max=size)) == payloads(0, 39, size)
    asked = sorted((first, last - first + 1) for bookie in site.bookies for _, first, last in bookie.requests)
    assert sum(count for _, count in asked) == 40
    assert all(count == 1 for first, count in asked if first >= FIRST_SINGLES)
    # No more than may be asked for while their size is not known.
    assert max(bookie.outstanding_max for bookie in site.bookies) <= FIRST_SINGLES


def test_striped_entries_are_asked_for_many_at_a_time():
    """Even if their size allows only few to be in flight: here 20."""
    site = Site(3)
    site.store((sealed(entry_id, 100_000) for entry_id in range(200)), 2)
    for bookie in site.bookies:
        bookie.prompt = False
    assert len(read(reader_of(site, 0, 199, 2, batch=False))) == 200
    assert sum(bookie.flushes for bookie in site.bookies) < 100


def test_before_anything_has_come_few_single_entries_are_asked_for():
    for write in (3, 2):
        site = Site(3)
        site.store((sealed(entry_id, 1000) for entry_id in range(5000)), write)
        runs = reader_of(site, 0, 4999, write, batch=False).runs()
        next(runs)
        first = [(first, last) for bookie in site.bookies for _, first, last in bookie.requests]
        assert sum(last - first + 1 for first, last in first if first < FIRST_SINGLES) == FIRST_SINGLES
        assert sum(1 for _ in runs) > 1
        assert max(bookie.outstanding_max for bookie in site.bookies) > (FIRST_SINGLES if write == 2 else 1)


def test_a_read_that_is_given_up_leaves_nothing_in_flight():
    for write in (3, 2):
        site = Site(3)
        site.store(map(sealed, range(5000)), write)
        runs = reader_of(site, 0, 4999, write, batch_size_max=6400).runs()
        next(runs)
        runs.close()  # type: ignore[attr-defined]
        assert all(bookie.outstanding == 0 for bookie in site.bookies)

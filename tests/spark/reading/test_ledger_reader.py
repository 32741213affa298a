"""Reading a range: every entry once and in order, or an error."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import (
    BookieUnavailable,
    DigestMismatch,
    EntriesMissing,
    MetadataUnavailable,
    NoSuchLedger,
    StorageFailed,
    TooManyRequests,
    Unauthorized,
)
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
from bookkeeper_tx.spark.bookies.rate_limit import RateLimit
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from tests.spark.bookies.stored_entries import PASSWORD, Bookie, Site, corrupted, payload_of, sealed
from tests.spark.reading.ledger_reads import KINDS, payloads, read, reader_of


@KINDS
@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 299), (7, 250), (299, 299)])
def test_every_entry_of_the_range_comes_once_and_in_order(bookies, write, batch, first, last):
    site = Site(bookies)
    site.store(map(sealed, range(300)), write)
    assert read(reader_of(site, first, last, write, batch=batch)) == payloads(first, last)
    assert not site.slept


@KINDS
def test_nothing_past_the_end_is_asked_for_or_given(bookies, write):
    site = Site(bookies)
    site.store(map(sealed, range(300)), write)
    for bookie in site.bookies:
        bookie.surplus = 5
    assert read(reader_of(site, 10, 200, write)) == payloads(10, 200)
    assert max(last for bookie in site.bookies for _, _, last in bookie.requests) == 200


STATES = st.sampled_from(["good", "good", "good", "absent", "corrupt"])


@given(st.data())
def test_what_some_bookie_has_in_good_order_is_read_and_what_none_has_is_told(data):
    size = data.draw(st.integers(1, 3))
    write = data.draw(st.integers(1, size))
    site = Site(size)
    last = data.draw(st.integers(0, 40))
    lost, corrupt = set(), set()
    sizes = data.draw(st.sampled_from([lambda entry_id: 20, lambda entry_id: entry_id * 7 % 31]))
    for entry_id in range(last + 1):
        entry = sealed(entry_id, sizes(entry_id))
        states = set()
        for step in range(write):
            state = data.draw(STATES)
            states.add(state)
            if state != "absent":
                holder = site.bookies[(entry_id + step) % size]
                holder.entries[entry_id] = entry if state == "good" else corrupted(entry)
        if states == {"corrupt"}:
            corrupt.add(entry_id)
        elif "good" not in states:
            lost.add(entry_id)
    for bookie in site.bookies:
        bookie.reply_count_max = data.draw(st.integers(1, 8))
        bookie.surplus = data.draw(st.integers(0, 2))
    options = {"batch": data.draw(st.booleans()), "window": data.draw(st.integers(1, 9))}
    _raises_at_the_first_that_cannot_be_had(site, last, write, options, lost, corrupt, sizes)
    reader = reader_of(site, 0, last, write, fail_on_data_loss=False, **options)
    good = [entry_id for entry_id in range(last + 1) if entry_id not in lost | corrupt]
    assert read(reader) == {entry_id: payload_of(entry_id, sizes(entry_id)) for entry_id in good}
    assert reader.missing.count == len(lost | corrupt)
    assert reader.missing.corrupt >= len(corrupt)
    assert {each for start, end in reader.missing.ranges for each in range(start, end + 1)} == lost | corrupt
    assert not site.slept


def _raises_at_the_first_that_cannot_be_had(site, last, write, options, lost, corrupt, sizes) -> None:
    found = {}
    failed = None
    try:
        for run in reader_of(site, 0, last, write, **options).runs():
            found.update(enumerate(run.payloads(), run.first))
    except (EntriesMissing, DigestMismatch) as error:
        failed = error
    end = min(lost | corrupt, default=last + 1)
    assert found == {entry_id: payload_of(entry_id, sizes(entry_id)) for entry_id in range(end)}
    if end in corrupt:
        assert isinstance(failed, DigestMismatch)
    elif end in lost:
        assert isinstance(failed, EntriesMissing)
        assert (failed.ledger_id, failed.first, failed.last) == (7, end, end)
        assert sorted(failed.reasons) == sorted(site.names[(end + step) % len(site.names)] for step in range(write))
    else:
        assert failed is None


# Bookies that do not answer ------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("request_number", range(1, 12))
def test_a_connection_that_is_lost_costs_nothing_but_time(bookies, write, request_number):
    site = Site(bookies)
    site.store(map(sealed, range(200)), write)
    for bookie in site.bookies:
        bookie.lose = {request_number}
        bookie.reply_count_max = 7
    assert read(reader_of(site, 0, 199, write, window=6)) == payloads(0, 199)


@pytest.mark.parametrize("write", [3, 2])
def test_a_bookie_that_is_down_is_asked_once(write):
    site = Site(3)
    site.store(map(sealed, range(300)), write)
    site.bookies[1].down = True
    assert read(reader_of(site, 1, 299, write)) == payloads(1, 299)
    assert not site.bookies[1].requests
    assert not site.slept


@pytest.mark.parametrize("write", [3, 2])
def test_a_bookie_that_is_not_registered_is_down(write):
    site = Site(3)
    site.store(map(sealed, range(30)), write)
    reader = reader_of(site, 0, 29, write)
    reader._session.channels._addresses.pop("b0")
    assert read(reader) == payloads(0, 29)


@KINDS
def test_bookies_that_stay_down_are_told_apart_from_lost_entries(bookies, write):
    site = Site(bookies)
    site.store(map(sealed, range(30)), write)
    for bookie in site.bookies:
        bookie.down = True
    reader = reader_of(site, 3, 29, write, num_retries=2, retry_interval_s=0.25, fail_on_data_loss=False)
    with pytest.raises(BookieUnavailable, match=r"entry 3 of ledger 7 .*b0.* is down"):
        read(reader)
    assert site.slept == [0.25, 0.25]
    assert not reader.missing.count


def test_an_entry_that_may_be_on_a_bookie_that_is_down_is_not_lost():
    site = Site(2)
    site.store(map(sealed, range(30)))
    del site.bookies[0].entries[5]
    site.bookies[1].down = True
    with pytest.raises(BookieUnavailable, match=r"b0: There is no such entry.*b1 is down|b1 is down.*b0: There"):
        read(reader_of(site, 0, 29, fail_on_data_loss=False))


def test_a_bookie_that_comes_back_in_time_is_asked_again(monkeypatch):
    site = Site(1)
    site.store(map(sealed, range(30)))
    site.bookies[0].down = True
    reader = reader_of(site, 0, 29, num_retries=3, retry_interval_s=1)

    def sleep(duration_s: float) -> None:
        site.slept.append(duration_s)
        site.bookies[0].down = len(site.slept) < 3

    reader._session.channels.sleep = sleep
    assert read(reader) == payloads(0, 29)
    assert len(site.slept) == 3


@pytest.mark.parametrize(("error", "retries"), [(StorageFailed(), 3), (TooManyRequests(), 3), (Unauthorized(), 0)])
@KINDS
def test_what_bookies_answer_is_raised_if_no_other_has_the_entry(bookies, write, error, retries):
    site = Site(bookies)
    site.store(map(sealed, range(30)), write)
    for bookie in site.bookies:
        bookie.errors[11] = error
    with pytest.raises(type(error), match=r"entry 11 of ledger 7.*b"):
        read(reader_of(site, 0, 29, write))
    assert len(site.slept) == retries


def test_one_bookie_that_fails_is_passed_over_for_the_rest():
    site = Site(3)
    site.store(map(sealed, range(2000)))
    site.bookies[0].entries[70] = corrupted(site.bookies[0].entries[70])
    assert read(reader_of(site, 0, 1999)) == payloads(0, 1999)
    assert {first for _, first, _ in site.bookies[1].requests} >= {70}
    assert not site.bookies[2].requests


# Bookies that break the protocol -------------------------------------------------------------------------------------


def _renumbered(run: Any) -> Any:
    run.first_entry_id += 1
    return run


def _emptied(run: Any) -> Any:
    run.offsets = run.offsets[:1]
    return run


@pytest.mark.parametrize("alter", [_renumbered, _emptied])
@pytest.mark.parametrize("batch", [True, False])
def test_a_reply_to_something_else_is_passed_over(alter, batch):
    site = Site(2)
    site.store(map(sealed, range(100)))
    site.bookies[0].alter = alter
    assert read(reader_of(site, 0, 99, batch=batch)) == payloads(0, 99)


@pytest.mark.parametrize("alter", [_renumbered, _emptied])
def test_and_named_if_there_is_no_other(alter):
    site = Site(1)
    site.store(map(sealed, range(100)))
    site.bookies[0].alter = alter
    with pytest.raises(Exception, match="b0: asked for entries 0 "):
        read(reader_of(site, 0, 99))


@KINDS
def test_entries_of_another_place_are_not_taken(bookies, write):
    site = Site(bookies)
    site.store(map(sealed, range(30)), write)
    for bookie in site.bookies:
        bookie.entries[4] = sealed(5)
    with pytest.raises(DigestMismatch, match="asked for 7/4, got 7/5"):
        read(reader_of(site, 0, 29, write))


# Where the entries are -----------------------------------------------------------------------------------------------


def test_each_fragment_is_read_from_its_bookies():
    site = Site(4)
    for entry_id in range(100):
        holders = site.bookies[:2] if entry_id < 40 else site.bookies[2:]
        for bookie in holders:
            bookie.entries[entry_id] = sealed(entry_id)
    metadata = LedgerMetadata(
        2, 2, 2, [Fragment(0, ("b0", "b1")), Fragment(40, ("b2", "b3"))], digest_type=DigestType.CRC32C
    )
    ranges = [(0, 99), (39, 40), (40, 99), (0, 39)]
    for first, last in ranges:
        ledger = type(site.ledger(0, 0)).of_metadata(7, metadata, first, last)
        assert len(ledger.fragments) == (first < 40) + (last >= 40)
        assert read(LedgerReader(site.channels(), ledger, PASSWORD)) == payloads(first, last)


@pytest.mark.parametrize("write", [2, 1])
def test_entries_that_were_copied_elsewhere_are_found(write):
    site = Site(2)
    site.store(map(sealed, range(100)), write)
    site.bookies.append(Bookie("b2"))
    site.names.append("b2")
    site.bookies[2].entries = dict(site.bookies[0].entries)
    for bookie in site.bookies[:2] if write == 2 else site.bookies[:1]:
        bookie.down = True
    asked = []

    def refresh(ledger_id: int) -> LedgerMetadata:
        asked.append(ledger_id)
        return LedgerMetadata(2, write, write, [Fragment(0, ("b2", "b1"))], digest_type=DigestType.CRC32C)

    stale = site.ledger(0, 99)
    ledger = type(stale)(7, 0, 99, (Fragment(0, ("b0", "b1")),), 2, write, write, DigestType.CRC32C)
    assert read(LedgerReader(site.channels(), ledger, PASSWORD, refresh=refresh)) == payloads(0, 99)
    assert asked == [7]


def test_a_bookie_that_holds_copies_now_may_be_one_that_nobody_knew():
    site = Site(2)
    site.store(map(sealed, range(100)), 1)
    site.names.remove("b1")
    site.bookies[1].entries = dict(enumerate(map(sealed, range(100))))
    site.bookies[0].knows_ledger = False
    channels = site.channels()

    def refresh(ledger_id: int) -> LedgerMetadata:
        channels.add_addresses({"b1": ("b1", 3181)})
        return LedgerMetadata(1, 1, 1, [Fragment(0, ("b1",))], digest_type=DigestType.CRC32C)

    stale = type(site.ledger(0, 0))(7, 0, 99, (Fragment(0, ("b0",)),), 1, 1, 1, DigestType.CRC32C)
    assert read(LedgerReader(channels, stale, PASSWORD, fail_on_data_loss=False, refresh=refresh)) == payloads(0, 99)


def test_entries_of_a_ledger_that_was_deleted_are_missing():
    site = Site(1)
    site.bookies[0].knows_ledger = False

    def refresh(ledger_id: int) -> LedgerMetadata:
        raise NoSuchLedger

    with pytest.raises(EntriesMissing) as caught:
        read(reader_of(site, 0, 3, refresh=refresh))
    assert caught.value.__notes__ == ["Ledger 7 was deleted after this read was planned."]
    reader = reader_of(site, 0, 3, refresh=refresh, fail_on_data_loss=False)
    assert read(reader) == {}
    assert reader.missing.ranges == [(0, 3)]


def test_entries_are_not_called_lost_while_nobody_can_say_where_they_are():
    site = Site(1)
    site.bookies[0].knows_ledger = False

    def refresh(ledger_id: int) -> LedgerMetadata:
        raise MetadataUnavailable

    with pytest.raises(MetadataUnavailable) as caught:
        read(reader_of(site, 0, 3, refresh=refresh, fail_on_data_loss=False))
    assert "entry 0 of ledger 7 cannot be had" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("write", [3, 2])
def test_an_entry_counts_once_for_the_rate_limit_however_many_are_bad(write):
    site = Site(3)
    site.store(map(sealed, range(300)), write)
    for entry_id in range(0, 300, 3):
        site.bookies[0].entries[entry_id] = corrupted(site.bookies[0].entries[entry_id])
    ledger = site.ledger(0, 299, write)
    channels = site.channels(RateLimit(entries_per_s=100))
    assert read(LedgerReader(channels, ledger, PASSWORD, batch=False)) == payloads(0, 299)
    assert sum(site.slept) < 10


def test_each_run_says_where_it_is_from():
    site = Site(3)
    site.store(map(sealed, range(100)), 2)
    for run in reader_of(site, 0, 99, 2).runs():
        expected = [site.names[entry_id % 3] for entry_id in range(run.first, run.last + 1)]
        assert run.bookies in (tuple(expected), (expected[0],))

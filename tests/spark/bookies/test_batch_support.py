"""Finding out whether a bookie serves batch read, with each way of an old bookie to refuse it."""

import pytest

from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import (
    BadRequest,
    BadVersion,
    BookieUnavailable,
    ProtocolViolation,
    RequestTimedOut,
)
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.bookies.batch_support import PROBE_TIMEOUT_S
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from protocol_specs.ledger_id import join
from tests.spark.bookies.stored_entries import DIGEST, PASSWORD, Site, payload_of, sealed

REFUSALS = [BookieUnavailable("closed"), BadRequest(), BadVersion()]


def read(site: Site, channels, last: int = 199) -> None:
    runs = LedgerReader(channels, site.ledger(0, last), PASSWORD).runs()
    assert [payload for run in runs for payload in run.payloads()] == [payload_of(each) for each in range(last + 1)]


def kinds(site: Site) -> list[str]:
    return [kind for kind, _, _ in site.bookies[0].requests]


@pytest.mark.parametrize("refusal", REFUSALS, ids=repr)
def test_a_bookie_without_it_is_asked_once_and_read_from_one_by_one(refusal):
    site = Site(1)
    site.store(map(sealed, range(200)))
    site.bookies[0].batch_refusal = refusal
    channels = site.channels()
    read(site, channels)
    read(site, channels)
    assert kinds(site).count("batch") == 1
    assert "range" in kinds(site)
    assert not site.slept
    assert not channels.quarantined("b0")


@pytest.mark.parametrize("error", [RequestTimedOut(), ProtocolViolation("junk")], ids=repr)
def test_a_bookie_that_may_be_slow_is_asked_once_more_later(error):
    site = Site(2)
    site.store(map(sealed, range(200)))
    site.bookies[0].batch_refusal = error
    channels = site.channels()
    read(site, channels)
    assert kinds(site) == ["batch"], "another bookie is read from"
    assert channels.quarantined("b0")
    site.bookies[0].batch_refusal = None
    site.bookies[1].down = True
    read(site, channels)
    assert "range" not in kinds(site)


def test_a_bookie_with_it_is_asked_for_batches_only():
    site = Site(1)
    site.store(map(sealed, range(200)))
    read(site, site.channels())
    assert set(kinds(site)) == {"batch"}


def test_an_error_about_the_entry_is_an_answer():
    site = Site(2)
    site.store(map(sealed, range(200)))
    del site.bookies[0].entries[0]
    channels = site.channels()
    read(site, channels)
    assert channels.batch_support.serves_v2("b0", lambda: pytest.fail("was known"), 7, 0)


def test_a_bookie_that_answers_nothing_is_down_and_asked_again_later():
    site = Site(2)
    site.store(map(sealed, range(200)))
    site.bookies[0].lose = {1, 2}
    channels = site.channels()
    read(site, channels)
    assert kinds(site) == ["batch", "single"]
    assert channels.quarantined("b0")
    site.bookies[1].down = True
    read(site, channels)
    assert "range" not in kinds(site)


def test_what_answers_behind_a_lost_connection_may_be_older():
    site = Site(1)
    site.store(map(sealed, range(200)))
    channels = site.channels()
    read(site, channels)
    site.bookies[0].batch_refusal = BookieUnavailable("closed")
    read(site, channels)
    assert kinds(site)[-1] == "range"


def test_silence_is_waited_for_no_longer_than_a_read():
    assert Site(1, read_timeout_s=2).channels().batch_support._timeout_s == 2
    assert Site(1, read_timeout_s=120).channels().batch_support._timeout_s == PROBE_TIMEOUT_S


@pytest.mark.parametrize("published", [True, False])
def test_in_v3_it_is_used_where_it_is_published(published):
    site = Site(1, protocol=WireProtocol.V3)
    site.store(map(sealed, range(200)))
    read(site, site.channels(batch_read_v3=["b0"] if published else []))
    assert set(kinds(site)) == ({"batch"} if published else {"range"})


def test_ledgers_of_scopes_are_read_in_v3():
    ledger_id = join(3, 4)
    site = Site(1)
    site.store(sealed(each, ledger_id=ledger_id) for each in range(20))
    channels = site.channels()
    connected = []
    connect = channels._connect
    channels._connect = lambda host, port, config: connected.append(config.protocol) or connect(host, port, config)
    ledger = site.ledger(0, 19, ledger_id=ledger_id)
    assert ledger.digest_type is DigestType.CRC32C
    assert DIGEST.payload_offset_of(ledger_id) > DIGEST.payload_offset
    found = [each for run in LedgerReader(channels, ledger, PASSWORD).runs() for each in run.payloads()]
    assert found == [payload_of(each) for each in range(20)]
    assert connected == [WireProtocol.V3]

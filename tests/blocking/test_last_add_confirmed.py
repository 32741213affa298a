"""Where an open ledger ends: what a covering set of its last bookies knows, and who cannot be asked."""

import pytest

from bookkeeper_tx.blocking.last_add_confirmed import last_add_confirmed
from bookkeeper_tx.errors import BookieUnavailable, DigestMismatch, RequestTimedOut, StorageFailed, Unauthorized
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
from protocol_specs import fields
from tests.blocking.stored_entries import DIGEST, LEDGER, Site, corrupted, sealed


def metadata(site: Site, write: int, ack: int, first: int = 0) -> LedgerMetadata:
    fragments = [Fragment(0, ["x"] * len(site.names))] if first else []
    fragments.append(Fragment(first, site.names))
    return LedgerMetadata(len(site.names), write, ack, fragments, digest_type=DigestType.CRC32C)


def ask(site: Site, write: int = 3, ack: int = 2, first: int = 0) -> int:
    return last_add_confirmed(site.channels(), LEDGER, metadata(site, write, ack, first), DIGEST)


def test_the_highest_that_any_knows():
    site = Site(3)
    site.store(map(sealed, range(10)))
    site.bookies[0].entries.pop(9)
    site.bookies[2].entries.clear()
    assert ask(site) == 8
    assert [bookie.requests for bookie in site.bookies] == [[("single", fields.LAST_ENTRY, fields.LAST_ENTRY)]] * 3


def test_nothing_is_confirmed_of_an_empty_ledger():
    site = Site(3)
    assert ask(site) == fields.NO_ENTRY
    site.bookies[0].knows_ledger = False
    assert ask(site) == fields.NO_ENTRY


def test_what_lies_before_the_last_fragment_is_confirmed():
    assert ask(Site(3), first=40) == 39


@pytest.mark.parametrize("ack", [2, 3])
def test_as_many_may_be_down_as_leave_no_entry_unseen(ack):
    site = Site(3)
    site.store(map(sealed, range(10)))
    site.bookies[1].down = True
    assert ask(site, ack=ack) == 8
    site.bookies[2].down = True
    if ack == 3:
        assert ask(site, ack=ack) == 8
    else:
        with pytest.raises(BookieUnavailable, match=r"too few bookies .* ledger 7 .*b1.*b2"):
            ask(site, ack=ack)


def test_answers_without_a_good_entry_leave_a_bookie_unknown():
    site = Site(1)
    site.store(map(sealed, range(10)))
    site.bookies[0].entries[9] = corrupted(sealed(9))
    with pytest.raises(DigestMismatch, match="b0"):
        ask(site, 1, 1)
    for error in (StorageFailed(), RequestTimedOut()):
        site.bookies[0].errors[9] = error
        with pytest.raises(type(error), match="b0"):
            ask(site, 1, 1)


def test_unauthorized_is_final():
    site = Site(3)
    site.store(map(sealed, range(10)))
    site.bookies[0].errors[9] = Unauthorized()
    with pytest.raises(Unauthorized):
        ask(site)

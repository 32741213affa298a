from array import array

import pytest

from bookkeeper_tx.bookie.storage.ledger_cache import LedgerCache
from bookkeeper_tx.errors import StorageFailed

PAGE = array("Q", [1, 2])


def test_the_pages_used_last_are_kept() -> None:
    cache = LedgerCache(2)
    cache.put((1, 0), PAGE, 0)
    cache.put((1, 1), PAGE, 0)
    assert cache.get((1, 0)) is PAGE
    cache.put((2, 0), PAGE, 0)
    assert cache.get((1, 1)) is None
    assert cache.get((1, 0)) is cache.get((2, 0)) is PAGE
    assert len(cache) == 2


def test_a_flush_makes_pages_old() -> None:
    cache = LedgerCache(9)
    cache.put((1, 0), PAGE, 0)
    cache.put((1, 1), PAGE, 0)
    cache.changed([(1, 0), (5, 5)])
    assert cache.get((1, 0)) is None
    assert cache.get((1, 1)) is PAGE


def test_a_page_read_before_a_flush_is_not_kept_after_it() -> None:
    cache = LedgerCache(9)
    began = cache.generation
    cache.changed([])
    cache.put((1, 0), PAGE, began)
    assert cache.get((1, 0)) is None
    cache.put((1, 0), PAGE, cache.generation)
    assert cache.get((1, 0)) is PAGE


def test_an_error_is_raised_as_long_as_it_is_held_or_until_the_page_is_there() -> None:
    cache, error = LedgerCache(2), StorageFailed("bad sector")
    cache.keep_error([(1, 0), (1, 1)], error)
    cache.put((1, 1), PAGE, 0)
    cache.check((1, 1))
    with pytest.raises(StorageFailed, match="bad sector"):
        cache.check((1, 0))
    del error
    cache.check((1, 0))

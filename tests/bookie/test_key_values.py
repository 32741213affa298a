"""What the bookie counts on of keys and values: RocksDB, and its double."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.key_values import KeyValues
from bookkeeper_tx.config import BookieConfig
from tests.bookie.crashing_disk import DIRECTORY, new_disk
from tests.sampling import examples

CONFIG = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="")
END = b"\xff" * 3


@pytest.fixture(params=["RocksDB", "its double"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], KeyValues]:
    """Opens the same store each time."""
    if request.param == "RocksDB":
        pytest.importorskip("rocksdict")
        return lambda: Disk().open_key_values(str(tmp_path / "db"), CONFIG)
    disk = new_disk()
    return lambda: disk.open_key_values(f"{DIRECTORY}/db", CONFIG)


def test_nothing_is_in_a_new_one(opened: Callable[[], KeyValues]) -> None:
    store = opened()
    assert (store.get(b"a"), list(store.keys()), store.items(b"", END, 9)) == (None, [], [])
    assert (store.next_key(b"", END), store.last_item(b"", END)) == (None, None)
    store.put([], [])
    store.sync()


def test_what_was_put_is_there_at_once_and_after_a_start(opened: Callable[[], KeyValues]) -> None:
    store = opened()
    store.put([b"b", b"a", b"c"], [b"2", b"1", b"3"])
    store.put([b"c"], [b"4"])
    for _ in range(2):
        assert [store.get(key) for key in (b"a", b"b", b"c", b"d")] == [b"1", b"2", b"4", None]
        assert list(store.keys()) == [b"a", b"b", b"c"]
        store.sync()
        store.close()
        store = opened()


def test_more_than_a_batch(opened: Callable[[], KeyValues]) -> None:
    store = opened()
    keys = [at.to_bytes(3, "big") for at in range(10_000)]
    store.put(keys, keys)
    assert store.items(keys[0], END, 10_000) == list(zip(keys, keys, strict=True))
    store.delete_ranges([(key, key + b"\0") for key in keys[:9_000]])
    for _ in range(2):
        assert list(store.keys()) == keys[9_000:]
        store.compact()


def test_keys_are_counted_more_or_less(opened: Callable[[], KeyValues]) -> None:
    store = opened()
    assert store.estimated_count() == 0
    keys = [at.to_bytes(3, "big") for at in range(10_000)]
    store.put(keys, keys)
    for _ in range(2):
        assert store.estimated_count() == 10_000
        store.sync()
        store.close()
        store = opened()
    store.put(keys[:100], keys[:100])
    assert 10_000 <= store.estimated_count() <= 10_100
    store.delete_ranges([(keys[5_000], END)])
    assert 5_000 <= store.estimated_count() <= 10_101
    store.compact()
    assert store.estimated_count() == 5_000


def test_a_range_begins_with_its_first_key_and_ends_before_its_end(opened: Callable[[], KeyValues]) -> None:
    store = opened()
    keys = [b"a", b"b", b"c", b"d"]
    store.put(keys, keys)
    assert store.values(b"b", b"d", 2) == store.values(b"b", b"d", 99) == [b"b", b"c"]
    assert store.items(b"b", b"d", 2) == store.items(b"b", b"d", 99) == [(b"b", b"b"), (b"c", b"c")]
    assert (store.next_key(b"b", b"d"), store.next_key(b"bb", b"d"), store.next_key(b"cc", b"d")) == (b"b", b"c", None)
    assert store.last_item(b"a", b"d") == (b"c", b"c")
    assert store.last_item(b"a", b"zz") == (b"d", b"d")
    assert (store.last_item(b"e", b"zz"), store.last_item(b"b", b"b")) == (None, None)
    store.delete_ranges([(b"b", b"d"), (b"x", b"y")])
    assert list(store.keys()) == [b"a", b"d"]


def test_a_store_that_is_closed_gives_no_answer(opened: Callable[[], KeyValues], tmp_path: Path) -> None:
    store = opened()
    store.put([b"a"], [b"1"])
    store.close()
    if isinstance(store, type(new_disk().open_key_values(f"{DIRECTORY}/x", CONFIG))):
        return
    for ask in (lambda: store.get(b"a"), lambda: store.items(b"", END, 9), lambda: store.last_item(b"", END)):
        with pytest.raises(OSError, match="closed"):
            ask()


KEYS = st.binary(min_size=1, max_size=2)
CHANGES = st.lists(
    st.one_of(st.tuples(st.just("put"), KEYS, KEYS), st.tuples(st.just("delete"), KEYS, KEYS)), max_size=30
)


@given(changes=CHANGES, first=KEYS, end=KEYS)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_are_a_sorted_dictionary(
    changes: list[tuple[str, bytes, bytes]], first: bytes, end: bytes, opened: Callable[[], KeyValues]
) -> None:
    store, model = opened(), dict[bytes, bytes]()
    store.delete_ranges([(b"", END)])
    for change, key, other in changes:
        if change == "put":
            store.put([key], [other])
            model[key] = other
        elif key < other:
            store.delete_ranges([(key, other)])
            model = {each: value for each, value in model.items() if not key <= each < other}
    expected = sorted((key, value) for key, value in model.items() if first <= key < end)
    assert list(store.keys()) == sorted(model)
    assert store.items(first, end, 99) == expected
    assert store.values(first, end, len(expected)) == [value for _, value in expected]
    assert store.next_key(first, end) == (expected[0][0] if expected else None)
    assert store.last_item(first, end) == (expected[-1] if expected else None)
    store.close()

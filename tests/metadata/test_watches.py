from collections.abc import Callable

from bookkeeper_tx.metadata.watches import Watches

failures: list[str] = []


def counter(calls: list[str], name: str) -> Callable[[], None]:
    return lambda: calls.append(name)


def test_the_first_stamp_is_no_change_and_equal_stamps_are_none() -> None:
    watches, calls = Watches(failures.append), []
    watches.add("a", counter(calls, "a"))
    watches.saw({"a": 1, "b": 1})
    watches.saw({"a": 1, "b": 2})
    assert calls == []
    watches.saw({"a": 2})
    watches.saw({"a": None})
    assert calls == ["a", "a"]
    assert watches.keys == {"a"}


def test_a_second_watcher_shares_the_stamp() -> None:
    watches, calls = Watches(failures.append), []
    watches.add("a", counter(calls, "first"))
    watches.saw({"a": 1})
    watches.add("a", counter(calls, "second"))
    watches.saw({"a": 2})
    assert calls == ["first", "second"]


def test_an_ended_watch_is_not_called() -> None:
    watches, calls = Watches(failures.append), []
    end_first = watches.add("a", counter(calls, "first"))
    end_second = watches.add("a", lambda: (calls.append("second"), end_third()))
    end_third = watches.add("a", counter(calls, "third"))
    watches.saw({"a": 1})
    end_first()
    end_first()
    watches.saw({"a": 2})
    assert calls == ["second"]
    end_second()
    assert watches.keys == frozenset()
    watches.saw({"a": 3})
    watches.add("a", counter(calls, "later"))
    watches.saw({"a": 4})
    assert calls == ["second"]


def test_a_failing_watcher_does_not_stop_the_next() -> None:
    watches, calls = Watches(failures.append), []
    watches.add("a", lambda: 1 / 0)
    watches.add("a", counter(calls, "second"))
    watches.saw({"a": 1})
    failures.clear()
    watches.saw({"a": 2})
    assert calls == ["second"]
    assert failures == ["a metadata watch failed"]


def test_clear() -> None:
    watches, calls = Watches(failures.append), []
    watches.add("a", counter(calls, "a"))
    watches.saw({"a": 1})
    watches.clear()
    watches.saw({"a": 2})
    assert calls == []
    assert not watches.keys


def test_after_a_look_that_failed_the_first_stamp_is_a_change() -> None:
    watches, calls = Watches(failures.append), []
    watches.add("new", counter(calls, "new"))
    watches.add("seen", counter(calls, "seen"))
    watches.saw({"seen": 1})
    watches.missed(["new", "seen", "unwatched"])
    assert watches.saw({"new": 1, "seen": 1, "unwatched": 1})
    assert calls == ["new"]
    assert not watches.saw({"new": 1, "seen": 1})

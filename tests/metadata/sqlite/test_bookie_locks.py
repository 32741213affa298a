import os
from contextlib import suppress
from pathlib import Path

import pytest

from bookkeeper_tx.errors import BookieIdInUse
from bookkeeper_tx.metadata.sqlite.bookie_locks import BookieLocks


def locks(tmp_path: Path) -> BookieLocks:
    return BookieLocks(str(tmp_path / "bookies"), patience_s=0)


def test_a_lock_excludes_a_second_store_until_it_is_released(tmp_path: Path) -> None:
    first, second = locks(tmp_path), locks(tmp_path)
    assert not second.is_held("a:1")
    assert first.acquire("a:1") is True
    assert first.acquire("a:1") is False
    assert first.is_held("a:1")
    assert second.is_held("a:1")
    with pytest.raises(BookieIdInUse, match="a:1 is running"):
        second.acquire("a:1")
    assert second.acquire("b:1")
    second.release("a:1")
    assert second.is_held("a:1")
    first.release("a:1")
    assert not second.is_held("a:1")
    assert second.acquire("a:1")
    assert sorted(second.held) == ["a:1", "b:1"]


def test_looking_does_not_keep_the_lock(tmp_path: Path) -> None:
    first, second = locks(tmp_path), locks(tmp_path)
    first.acquire("a:1")
    first.release("a:1")
    for _ in range(3):
        assert not second.is_held("a:1")
    assert first.acquire("a:1")


def test_no_descriptor_is_left_behind(tmp_path: Path) -> None:
    first, second = locks(tmp_path), locks(tmp_path)
    first.acquire("a:1")
    before = _open_below(tmp_path)
    assert before
    for _ in range(3):
        with pytest.raises(BookieIdInUse):
            second.acquire("a:1")
        second.is_held("a:1")
        second.is_held("none")
    assert _open_below(tmp_path) == before


def _open_below(directory: Path) -> list[str]:
    """Return the files there that this process has open; its files elsewhere come and go meanwhile."""
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(os.readlink(each))
    return sorted(path for path in found if path.startswith(str(directory)))


@pytest.mark.parametrize("bookie_id", ["127.0.0.1:3181", "a\\b", "[^", "x" * 300, "x" * 299 + "y"])
def test_file_names_are_safe_and_distinct(tmp_path: Path, bookie_id: str) -> None:
    held = locks(tmp_path)
    held.acquire(bookie_id)
    (name,) = os.listdir(tmp_path / "bookies")
    assert len(name) <= 255
    assert set("/\\:") & set(name) == set()
    assert not held.is_held("x" * 298)
    assert locks(tmp_path).is_held(bookie_id)

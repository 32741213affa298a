"""Damage of any kind, anywhere in the files of a bookie: lines, or one clear error, and never an unexpected one."""

from pathlib import Path

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import BookKeeperError
from tests.bookie.golden_directory import FILE, unpack
from tests.cli.bookie.bookie_files import LEDGERS, files_of, run

GOLDEN = unpack(FILE.read_text(encoding="utf-8"))

COMMANDS = [
    ["lastmark"],
    ["journal", "--msg"],
    ["journal", "--behind-mark", "--json"],
    ["entrylog", "--msg"],
    ["entrylog", "--ledgers"],
    *(["index", str(each), "--locations"] for each in LEDGERS),
    *(["ledger", str(each)] for each in LEDGERS),
    ["listfilesondisc"],
    ["consistency"],
    ["rebuild-index", "--dry-run"],
]


BYTES = st.sampled_from([b"\0" * 8, b"\xff" * 8, b"\x7f" * 8, b"\x01"])


@frozen
class Damage:
    """What happened to one file."""

    name: str
    removed: bool
    cut: int | None
    changes: list[tuple[int, bytes]]

    def of(self, data: bytes) -> bytes:
        found = bytearray(data)
        if self.cut is not None:
            del found[self.cut % (len(found) + 1) :]
        for at, new in self.changes:
            at %= max(len(found), 1)
            found[at : at + len(new)] = new[: len(found) - at]
        return bytes(found)


DAMAGES = st.lists(
    st.builds(
        Damage,
        st.sampled_from(sorted(GOLDEN)),
        st.integers(0, 5).map(lambda number: not number),
        st.none() | st.integers(0, 10_000),
        # Most of what means something is near the start of a file.
        st.lists(st.tuples(st.integers(0, 2000) | st.integers(0, 10_000), BYTES), max_size=3),
    ),
    min_size=1,
    max_size=2,
)


def write(directory: Path, damages: list[Damage]) -> None:
    """Write the files of a killed bookie, with these damages."""
    files = dict(GOLDEN)
    for each in damages:
        if each.removed:
            files.pop(each.name, None)
        elif each.name in files:
            files[each.name] = each.of(files[each.name])
    for name, data in files.items():
        path = directory / "current" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@given(damages=DAMAGES)
def test_damage_is_told_and_nothing_is_changed(tmp_path_factory: pytest.TempPathFactory, damages: list[Damage]) -> None:
    directory = tmp_path_factory.mktemp("bookie")
    write(directory, damages)
    before = files_of(directory)
    for command in COMMANDS:
        result = run(*command, "--data", directory)
        assert isinstance(result.exception, BookKeeperError | SystemExit | None), (command, result.exc_info)
        assert result.exit_code in (0, 1)
    assert files_of(directory) == before


@given(damages=DAMAGES)
def test_a_rebuild_makes_no_index_worse(tmp_path_factory: pytest.TempPathFactory, damages: list[Damage]) -> None:
    directory = tmp_path_factory.mktemp("bookie")
    write(directory, damages)
    before = faults(directory)
    result = run("rebuild-index", "--data", directory)
    assert isinstance(result.exception, BookKeeperError | SystemExit | None), result.exc_info
    # An index without a header is left as it was; a place stays where damage begins, so that readers are told an error.
    assert set(faults(directory)) <= set(before)
    assert not list(directory.rglob("*.rebuilt"))


def faults(directory: Path) -> list[str]:
    """Return what ``consistency`` tells, if it can."""
    return run("consistency", "--json", "--data", directory).stdout.splitlines()[:-1]

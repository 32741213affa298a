"""The pictures and the tables of rooms are what the code says."""

from pathlib import Path

import pytest

from docs.drawing import house
from docs.drawing.__main__ import fresh, stale

ROOT = Path(__file__).parent.parent.parent.parent


def test_pictures_and_tables_are_up_to_date() -> None:
    assert stale(ROOT) == []


@pytest.mark.parametrize("package", ["bookkeeper_tx", "protocol_specs", "compat_tests"])
def test_every_room_says_what_it_is_for(package: str) -> None:
    rows = house.table(ROOT, package).splitlines()[2:]
    assert len(rows) > 5
    assert [row for row in rows if row.endswith("|  |")] == []


def test_every_room_is_in_the_picture() -> None:
    picture = fresh(ROOT)[ROOT / "docs/drawing/house.svg"]
    doors = (ROOT / "bookkeeper_tx").glob("*/__init__.py")
    names = {door.parent.name for door in doors} | {"compat_tests", "protocol_specs"}
    assert [name for name in sorted(names) if f">{name}</text>" not in picture] == []


def test_the_arrows_are_imports() -> None:
    found = house.imports()
    assert {"spark", "testing"} <= found["cli"]
    assert "bookie" not in found["client"]
    assert found["compat_tests"] == {"protocol_specs"}


def test_a_sentence_ends_at_its_full_stop_and_cites_no_page(tmp_path: Path) -> None:
    room = tmp_path / "package" / "room"
    room.mkdir(parents=True)
    (room / "__init__.py").write_text('"""Holds ``things``, all\nof them (docs/index.md).  And more."""\n')
    assert "| `room/` | Holds `things`, all of them |" in house.table(tmp_path, "package")

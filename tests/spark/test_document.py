"""The options in the guides."""

from pathlib import Path

import pytest

from bookkeeper_tx.spark import document
from bookkeeper_tx.spark.options.option import Use

ROOT = Path(__file__).parents[2]


def test_the_guides_are_what_the_code_says() -> None:
    assert document.stale(ROOT) == []
    assert any("<!-- options READ -->" in text for text in document.fresh(ROOT).values())


def test_a_stale_page_is_found_and_written_anew(tmp_path: Path) -> None:
    page = tmp_path / "docs/guides/spark.md"
    page.parent.mkdir(parents=True)
    page.write_text("before\n<!-- options READ -->\nold\n<!-- end of options -->\nbehind\n")
    assert document.stale(tmp_path) == ["docs/guides/spark.md is not what bookkeeper_tx/spark/options/options.py says"]
    assert document.write(tmp_path) == [page]
    assert document.stale(tmp_path) == document.write(tmp_path) == []
    text = page.read_text()
    assert text.startswith("before\n<!-- options READ -->\n\n| option | value | default | what it does |\n")
    assert "| `batchRows` | a whole number from 1 to 1000000 | `10000` |" in text
    assert "old" not in text
    assert "sinkId" not in text.replace("`sinkId` has", "")


@pytest.mark.parametrize("uses", [Use.ENTRIES, Use.SINK, Use.CLUSTER])
def test_a_table_for_several_uses_says_which(uses: Use) -> None:
    header, _, first, *_ = document.table(uses).splitlines()
    assert "| for |" in header
    assert "| all |" in first

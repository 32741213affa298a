"""docs/guides/bookie-http.md: its table has the endpoints that there are."""

import re
from pathlib import Path

from bookkeeper_tx.bookie.http.paths import PATHS

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "bookie-http.md"


def test_every_endpoint_has_a_row_and_every_row_an_endpoint() -> None:
    rows = re.findall(r"^\| `(/\S+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == list(PATHS)

"""docs/guides/bookie-metrics.md and docs/grafana/bookie.json: the names there are those that a bookie prints."""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.bookie.metrics.exposition import name_of_path
from tests.bookie.metrics.measured_bookie import MeasuredBookie

HERE, DOCS = Path(__file__).parent, Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "guides" / "bookie-metrics.md").read_text(encoding="utf-8")
JAVA: dict[str, Any] = json.loads((HERE / "java_names.json").read_text(encoding="utf-8"))
BOARDS: list[dict[str, Any]] = json.loads((HERE / "board_names.json").read_text(encoding="utf-8"))
OURS: dict[str, Any] = json.loads((DOCS / "grafana" / "bookie.json").read_text(encoding="utf-8"))
SUFFIXES = ("", "_count", "_bucket")

NOT_PRINTED = {
    "bookie_ledger_dir__pulsar_data_bookkeeper_ledgers_0_usage": "only with that directory",
}
"""What Pulsar's boards query in vain, and the page says so."""

STORAGES = ("SortedLedgerStorage", "DbLedgerStorage")

BY_PROMETHEUS = {"job", "instance"}
"""Labels that Prometheus puts on all samples."""

Printed = set[tuple[str, frozenset[tuple[str, str]]]]


@pytest.fixture(scope="module")
def printed() -> Printed:
    """What a bookie prints with one storage or the other."""
    return {each for storage in STORAGES for each in MeasuredBookie(ledger_storage_class=storage).samples()}


def rows(mark: str) -> list[list[str]]:
    """The rows of the table behind a mark, without its head."""
    table = PAGE.partition(f"<!-- {mark} -->")[2].strip().partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([\w*]+)`", cell)


def is_printed(pattern: str, printed: Printed) -> bool:
    return any(fnmatchcase(name, pattern + suffix) for name, _ in printed for suffix in SUFFIXES)


def test_what_the_table_names_is_printed(printed: Printed) -> None:
    named = [name for row in rows("ours") for name in names_in(row[0])]
    assert len(named) > 70
    assert [name for name in named if not is_printed(name, printed)] == []


def test_what_is_printed_is_in_the_table(printed: Printed) -> None:
    named = [name for row in rows("ours") for name in names_in(row[0])]
    ends = ("", "_count", "_sum", "_bucket", "_created")
    alone = {name for name, _ in printed if not any(fnmatchcase(name, each + end) for each in named for end in ends)}
    assert {name for name in alone if not name.startswith(("python_", "bookie_connections_closed"))} == set()


@pytest.mark.parametrize("storage", STORAGES)
def test_each_name_of_javas_is_there_or_has_a_reason(storage: str) -> None:
    printed = set(MeasuredBookie(ledger_storage_class=storage).samples())
    missing = {name: row[1] for row in rows("missing") for name in names_in(row[0])}
    assert all(missing.values())
    for name in JAVA[storage]:
        ours = is_printed(name.replace("__PATH", "*"), printed)
        assert ours or any(fnmatchcase(name, pattern) for pattern in missing), name


def test_no_name_is_both_there_and_missing(printed: Printed) -> None:
    named = [name for row in rows("ours") for name in names_in(row[0]) if "*" not in name]
    missing = [pattern for row in rows("missing") for pattern in names_in(row[0])]
    assert [name for name in named if any(fnmatchcase(name, pattern) for pattern in missing)] == []


# Boards --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", BOARDS, ids=lambda query: " ".join([query["name"], *query["labels"].values()]))
def test_what_pulsars_boards_query_is_printed(query: dict[str, Any], printed: Printed) -> None:
    name, labels = query["name"], query["labels"].items()
    found = any(each == name and labels <= dict(of_each).items() for each, of_each in printed)
    assert found is (name not in NOT_PRINTED)
    if name in NOT_PRINTED:
        assert f"`{name}`" in PAGE.partition("## Pulsar's boards")[2]


def test_the_directory_of_pulsars_image_has_the_name_that_its_board_queries() -> None:
    path = name_of_path("/pulsar/data/bookkeeper/ledgers-0")
    assert f"bookie_ledger_dir_{path}_usage" in NOT_PRINTED


def expressions() -> list[str]:
    return [target["expr"] for panel in OURS["panels"] for target in panel["targets"]]


def selectors(expression: str) -> list[tuple[str, dict[str, str]]]:
    """The names in an expression, with the labels that are given values."""
    found = re.findall(r"(?:(\w+)|(?<![\w]))\{([^}]*)\}", expression)
    return [(name, dict(re.findall(r'(\w+)=~?"([^"]*)"', labels))) for name, labels in found]


@pytest.mark.parametrize("expression", expressions())
def test_what_our_board_queries_is_printed(expression: str, printed: Printed) -> None:
    assert selectors(expression)
    for name, labels in selectors(expression):
        pattern = labels.pop("__name__", name).replace(".*", "*")
        assert labels.keys() >= BY_PROMETHEUS
        wanted = {key: value for key, value in labels.items() if key not in BY_PROMETHEUS}
        assert any(
            fnmatchcase(each, pattern) and wanted.items() <= dict(of_each).items() for each, of_each in printed
        ), expression


def test_our_board_is_whole() -> None:
    panels = OURS["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels) > 20
    assert all(panel["description"] and panel["fieldConfig"]["defaults"]["unit"] for panel in panels)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)
    variables = {variable["name"] for variable in OURS["templating"]["list"]}
    assert variables == {"datasource", *BY_PROMETHEUS}
    for variable in OURS["templating"]["list"][1:]:
        assert "bookie_SERVER_STATUS" in variable["query"]

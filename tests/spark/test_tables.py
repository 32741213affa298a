"""The table that the options name, and the calls that format ``bookkeeper`` passes to it."""

import pickle
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.datasource import CaseInsensitiveDict, DataSource
from pyspark.sql.types import StructType

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark import tables
from bookkeeper_tx.spark.tables import ENTRIES, TABLES, BookKeeperSource, choose, table_class

URI = {"metadataServiceUri": "sqlite:///m"}
NOTHING = StructType()


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_named_by_option_or_path(name: str) -> None:
    rest = {"ledger": "7", "batch": "false"}
    for named in ({"table": name}, {"path": name}, {"table": name, "path": name}, {"TABLE": f" {name.upper()} "}):
        assert choose({"ledger": "7", **named, "batch": "false"}) == (name, rest)


def test_without_a_name_it_is_the_entries() -> None:
    assert choose({"ledger": "7"}) == (ENTRIES, {"ledger": "7"})


@pytest.mark.parametrize("path", ["/var/bookkeeper/ledgers", "./entrylog", "ledgers/*.log"])
def test_the_path_of_entry_logs_goes_to_their_table(path: str) -> None:
    assert choose({"table": "EntryLog", "path": path}) == ("entrylog", {"path": path})
    with pytest.raises(InvalidConfig, match=r"load\(\) names .*option table = entrylog"):
        choose({"path": path})


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"table": "replica"}, "option table names 'replica'"),
        ({"path": "replica"}, "load() names 'replica'"),
        ({"path": ""}, "load() names ''"),
        ({"table": None}, "option table names None"),
        ({"table": "ledgers", "path": "/var/bookkeeper"}, "load() names '/var/bookkeeper'"),
    ],
)
def test_an_unknown_table_is_one_error_that_names_those_there_are(options: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        choose(options)
    every = "entries, ledgers, bookies, replicas, orphans, entrylog"
    assert str(caught.value).startswith(f"{where}, and there is no such table: tables are {every};")


@pytest.mark.parametrize("name", [each for each in TABLES if each != "entrylog"])
def test_no_table_of_a_cluster_has_a_path(name: str) -> None:
    named = {"orphans": {"ids": "1"}, "entries": {"ledger": "7"}}.get(name, {})
    table = table_class(name)({**URI, **named, "path": "x"})  # format bookkeeper-<name>
    with pytest.raises(
        InvalidConfig, match=r"option path does nothing here: leave it out.*load\(\).* ledger or ledgers"
    ):
        table.reader(NOTHING)


def test_a_sink_has_no_path() -> None:
    sink = table_class(ENTRIES)({**URI, "sinkId": "s", "path": "x"})
    for use in (sink.writer, sink.streamWriter):
        with pytest.raises(InvalidConfig, match=r"option path .*save\(\) or start\(\).* sinkId what is written"):
            use(NOTHING, False)


@pytest.mark.parametrize(("table", "hint"), [("ledgers", "keep one$"), ("entrylog", r"keep one; .*'\./bookies'$")])
def test_two_tables_contradict_each_other(table: str, hint: str) -> None:
    with pytest.raises(InvalidConfig, match=rf"option table names {table}, and load\(\) names bookies: {hint}"):
        choose({"table": table, "path": "bookies"})


@pytest.mark.parametrize("name", TABLES)
def test_each_table_is_a_format_of_its_own(name: str) -> None:
    assert table_class(name).name() == f"bookkeeper-{name}"


def source(**options: str) -> BookKeeperSource:
    return BookKeeperSource(CaseInsensitiveDict({**URI, **options}))


class Recorder(DataSource):
    """A table that records its calls."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.asked: list[Any] = []

    def schema(self) -> str:
        return "a INT"

    def reader(self, schema: StructType) -> Any:
        return ("reader", schema, self.options)

    def streamReader(self, schema: StructType) -> Any:
        return ("streamReader", schema, self.options)

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        return ("writer", schema, overwrite, self.options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:
        return ("streamWriter", schema, overwrite, self.options)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "table_class", lambda name: Recorder)


@pytest.mark.usefixtures("recorded")
def test_the_entries_do_all_that_is_asked() -> None:
    options = {"metadataserviceuri": "sqlite:///m", "ledger": "7"}
    made = source(ledger="7", table="entries")
    assert made.schema() == "a INT"
    assert made.reader(NOTHING) == ("reader", NOTHING, options)
    assert made.streamReader(NOTHING) == ("streamReader", NOTHING, options)
    assert made.writer(NOTHING, True) == ("writer", NOTHING, True, options)
    assert made.streamWriter(NOTHING, False) == ("streamWriter", NOTHING, False, options)
    assert made.table is made.table


@pytest.mark.usefixtures("recorded")
def test_other_tables_are_read_only_and_no_streams() -> None:
    made = source(table="replicas")
    assert made.reader(NOTHING)[0] == "reader"
    with pytest.raises(InvalidConfig, match="table replicas cannot be read as a stream, only entries can"):
        made.streamReader(NOTHING)
    for write in (made.writer, made.streamWriter):
        with pytest.raises(InvalidConfig, match="table replicas cannot be written, only entries can"):
            write(NOTHING, False)


def test_the_table_travels_along() -> None:
    made = pickle.loads(pickle.dumps(source(table="ledgers")))
    assert type(made.__dict__["_table"]) is table_class("ledgers")


def test_a_wrong_name_is_said_where_the_table_is_used() -> None:
    made = pickle.loads(pickle.dumps(source(table="ledger")))
    for use in (made.schema, lambda: made.reader(NOTHING), lambda: made.writer(NOTHING, False)):
        with pytest.raises(InvalidConfig, match="option table names 'ledger'"):
            use()


@pytest.mark.parametrize("name", ["ledgers", "bookies", "replicas", "orphans"])
def test_options_of_another_table_are_refused(name: str) -> None:
    with pytest.raises(InvalidConfig, match="option startingOffsets does nothing here: leave it out"):
        source(table=name, startingOffsets="earliest").schema()


def test_entry_logs_know_no_cluster() -> None:
    with pytest.raises(InvalidConfig, match="option metadataServiceUri does nothing here"):
        source(table="entrylog", path="/var/bookkeeper").schema()


def test_orphans_want_ids() -> None:
    with pytest.raises(InvalidConfig, match="option ids is missing"):
        source(table="orphans").schema()
    assert "bookie" in source(table="orphans", ids="0-9").schema().names

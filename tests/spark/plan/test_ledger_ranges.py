"""From ledgers and offsets to ranges of entries."""

import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, LessThan

from bookkeeper_tx.errors import InvalidArgument, InvalidConfig, LedgerScopeNotSupported, NoSuchLedger, Unauthorized
from bookkeeper_tx.model import DigestType, Fragment, LedgerId
from bookkeeper_tx.spark.bookies.last_add_confirmed import LastConfirmed
from bookkeeper_tx.spark.options import metadata_store
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret, read_password
from bookkeeper_tx.spark.plan import ledger_ranges
from bookkeeper_tx.spark.plan.filters import EntryFilter, push
from bookkeeper_tx.spark.plan.ledger_ranges import Snapshot, check_scopes, take_snapshot, wanted_ranges
from tests.spark.stores import StoreOfDict, closed_ledger, open_ledger

Found = list[tuple[int, int, int]]


def options(**values: str) -> Options:
    named = {} if {"ledger", "ledgers"} & set(values) else {"ledgers": "0-"}
    return Options.from_spark({"metadataServiceUri": "sqlite:///m", **named, **values}, Use.READ)


@pytest.fixture
def snapshot(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Take a snapshot of a dictionary of ledgers; the last add confirmed of open ones is 4."""

    def take(ledgers: dict[int, Any], password: bytes = b"", /, **values: str) -> Snapshot:
        monkeypatch.setattr(metadata_store, "open_blocking_store", lambda *_: StoreOfDict(ledgers))
        monkeypatch.setattr(
            ledger_ranges, "last_confirmed", lambda channels, ledgers, *_: [LastConfirmed(4)] * len(ledgers)
        )
        return take_snapshot(options(**values), Secret(password))

    return take


def ranges(snapshot: Snapshot, wanted: EntryFilter | None = None, **values: str) -> Found:
    found = [each.entries for each in wanted_ranges(snapshot, options(**values), wanted or EntryFilter())]
    return [(each.ledger_id, each.first, each.last) for each in found]


def test_all_of_closed_ledgers_and_what_is_confirmed_of_open_ones(snapshot: Any) -> None:
    found = snapshot({1: closed_ledger(10), 2: open_ledger(), 3: closed_ledger(0)})
    assert ranges(found) == [(1, 0, 9), (2, 0, 4)]
    assert [each.closed for each in found.ledgers] == [True, False, True]
    (first, *_) = wanted_ranges(found, options(), EntryFilter())
    assert first.entry_bytes == 10.0


def test_the_size_of_open_ledgers_is_that_of_their_newest_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {1: LastConfirmed(4, 9, 1000), 2: LastConfirmed(-1)}
    ledgers = dict.fromkeys(ends, open_ledger())
    monkeypatch.setattr(metadata_store, "open_blocking_store", lambda *_: StoreOfDict(ledgers))
    monkeypatch.setattr(ledger_ranges, "last_confirmed", lambda channels, ledgers, *_: list(ends.values()))
    found = take_snapshot(options(), Secret(b""))
    assert [(each.end, each.entry_bytes) for each in found.ledgers] == [(5, 100.0), (0, 0.0)]


def test_open_ledgers_may_be_left_out(snapshot: Any) -> None:
    assert ranges(snapshot({1: closed_ledger(10), 2: open_ledger()}, readMode="closed")) == [(1, 0, 9)]


def test_offsets(snapshot: Any) -> None:
    found = snapshot({1: closed_ledger(10), 2: open_ledger()})
    assert ranges(found, startingOffsets='{"1": 5}', endingOffsets='{"1": 8}') == [(1, 5, 7), (2, 0, 4)]
    assert ranges(found, startingOffsets="latest") == []
    assert ranges(found, startingOffsets='{"1": 10, "2": "latest"}') == []
    assert ranges(found, endingOffsets="earliest") == []


def test_an_offset_that_there_is_not(snapshot: Any) -> None:
    found = snapshot({1: closed_ledger(10), 2: open_ledger()})
    with pytest.raises(InvalidConfig, match="endingOffsets: ledger 1 is asked for up to offset 11, but it ends at 10"):
        ranges(found, endingOffsets='{"1": 11}')
    with pytest.raises(InvalidConfig, match="what is confirmed ends at 5"):
        ranges(found, startingOffsets='{"2": 11}')
    assert ranges(found, endingOffsets='{"1": 11}', failOnDataLoss="false") == [(1, 0, 9), (2, 0, 4)]
    with pytest.raises(InvalidConfig, match="startingOffsets names ledger 3, which is not among those"):
        ranges(found, startingOffsets='{"3": 1}')


def test_a_ledger_that_is_lost_is_raised_by_who_needs_it(snapshot: Any) -> None:
    found = snapshot({1: closed_ledger(10)}, ledgers="1,2")
    assert [each.ledger_id for each in found.ledgers] == [1]
    found.check_lost(options(failOnDataLoss="false"))
    with pytest.raises(NoSuchLedger, match=r"ledger 2: .*take it out of the options"):
        found.check_lost(options())
    assert ranges(found, startingOffsets='{"1": 5, "2": 7}', failOnDataLoss="false") == [(1, 5, 9)]


def test_filters_cut_what_is_read(snapshot: Any) -> None:
    found = snapshot({each: closed_ledger(10) for each in range(4)})
    filters = [EqualTo(("ledger_id",), 2), GreaterThanOrEqual(("entry_id",), 3), LessThan(("entry_id",), 5)]
    assert ranges(found, push(filters)[0]) == [(2, 3, 4)]


def test_the_snapshot_has_no_password(snapshot: Any) -> None:
    ledgers = {1: closed_ledger(10, password=b"hunter2", custom_metadata={"k": b"hunter2"})}
    found = snapshot(ledgers, b"hunter2")
    assert b"hunter2" not in pickle.dumps(found)
    with pytest.raises(Unauthorized, match="ledger 1: wrong password; option passwordFile") as caught:
        snapshot(ledgers, b"other")
    assert "hunter2" not in str(caught.value)
    assert "other" not in str(caught.value)
    with pytest.raises(Unauthorized, match=r"ledger 1: wrong password; option passwordFile .*\(it is not given"):
        snapshot(ledgers)


def test_a_wrong_key_of_java_s_is_told_before_anybody_is_asked(snapshot: Any) -> None:
    with pytest.raises(InvalidConfig, match=r"bookkeeper\.client\.speculativeReadTimeout does nothing here"):
        snapshot({1: closed_ledger(1)}, **{"bookkeeper.client.speculativeReadTimeout": "x"})


def test_a_ledger_whose_metadata_names_no_digest(snapshot: Any) -> None:
    ledgers = {1: closed_ledger(10, digest_type=None, password=None)}
    with pytest.raises(InvalidConfig, match="give option digestType"):
        snapshot(ledgers)
    (known,) = snapshot(ledgers, digestType="mac").ledgers
    assert known.entries(0, 1).digest_type is DigestType.MAC


def test_bookies_that_are_not_registered_may_be_where_their_id_says(snapshot: Any) -> None:
    ensemble = ("bookie:3181", "down:3182", "down-without-address")
    ledger = closed_ledger(10, ensemble_size=3, write_quorum_size=3, fragments=[Fragment(0, ensemble)])
    bookies = snapshot({1: ledger}).bookies
    assert {name: (each.host, each.port) for name, each in bookies.items()} == {
        "bookie:3181": ("10.0.0.1", 3181),
        "down:3182": ("down", 3182),
    }


def test_ids_of_several_scopes_need_the_scope(snapshot: Any) -> None:
    scoped = closed_ledger(1, fragments=[Fragment(0, ["of-scopes:3181"])])
    found = snapshot({1: closed_ledger(1), LedgerId(1, 5): scoped}, scope="all")
    check_scopes(found, has_scope_column=True)
    with pytest.raises(InvalidArgument, match="includeScope=true"):
        check_scopes(found, has_scope_column=False)


def test_a_bookie_without_scopes_is_not_asked(snapshot: Any) -> None:
    with pytest.raises(LedgerScopeNotSupported, match="bookie bookie:3181 does not know scopes"):
        snapshot({LedgerId(1, 5): closed_ledger(1)}, scope="5")


def test_open_ledgers_are_recovered_when_that_is_asked_for(snapshot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def recover(uri: str, ledger_id: int, password: bytes, digest_type: DigestType, **_: Any) -> Any:
        asked.append((ledger_id, password, digest_type))
        return closed_ledger(20)

    monkeypatch.setattr(ledger_ranges, "recover_ledger", recover)
    ledgers = {1: closed_ledger(10, password=b"p"), 2: open_ledger(password=b"p")}
    seen = snapshot(ledgers, b"p", allowRecovery="true")
    assert not asked
    found = ledger_ranges.recovered(seen, options(allowRecovery="true"), Secret(b"p"))
    assert ranges(found) == [(1, 0, 9), (2, 0, 19)]
    assert asked == [(2, b"p", DigestType.CRC32C)]


def test_the_password_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_bytes(b"hunter2\r\nmore")
    secret = read_password(options(passwordFile=str(path)))
    assert secret == Secret(b"hunter2")
    assert "hunter2" not in repr(secret)
    assert read_password(options()) == Secret(b"")
    with pytest.raises(InvalidConfig, match="cannot be read: No such file") as caught:
        read_password(options(passwordFile="hunter3"))
    assert "hunter3" not in str(caught.value)

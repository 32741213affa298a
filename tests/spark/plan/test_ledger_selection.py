"""The ledgers that the options choose."""

import pytest

pytest.importorskip("pyspark")

from bookkeeper_tx.errors import MetadataCorrupt, NoSuchLedger
from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.plan.ledger_selection import lost_ledgers, select_ledgers
from tests.spark.stores import StoreOfDict, closed_ledger

SCOPED = LedgerId(7, 12)
OTHER = LedgerId(9, 12)


def store() -> StoreOfDict:
    mine = {"Owner": b"me", "kind": b"log"}
    ledgers = {each: closed_ledger(1, custom_metadata=mine if each % 2 else {"Owner": b"you"}) for each in range(1, 8)}
    return StoreOfDict({**ledgers, SCOPED: closed_ledger(1, custom_metadata=mine), OTHER: closed_ledger(1)})


def selected(of: StoreOfDict | None = None, **values: str) -> list[int]:
    options = Options.from_spark({"metadataServiceUri": "sqlite:///m", **values}, Use.READ)
    found = select_ledgers(of or store(), options)
    if found.lost:
        raise lost_ledgers(found.lost)
    return [each.ledger_id for each in found.ledgers]


def lost(of: StoreOfDict, **values: str) -> list[int]:
    options = Options.from_spark({"metadataServiceUri": "sqlite:///m", **values}, Use.READ)
    found = select_ledgers(of, options)
    assert [each.ledger_id for each in found.ledgers] == [1]
    return list(found.lost)


def test_by_id_and_by_ranges() -> None:
    assert selected(ledger="3") == [3]
    assert selected(ledgers="6-,1,2-3,2") == [1, 2, 3, 6, 7]
    assert selected(ledgers="100-200") == []


def test_by_custom_metadata_whose_keys_spark_has_made_small() -> None:
    assert selected(**{"ledgermetadata.owner": "me"}) == [1, 3, 5, 7]
    assert selected(**{"ledgermetadata.owner": "me", "ledgermetadata.kind": "other"}) == []


def test_custom_metadata_that_no_ledger_has_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    assert selected(**{"ledgermetadata.owner": "me"}) == [1, 3, 5, 7]
    assert not caplog.records
    assert selected(**{"ledgermetadata.ownr": "me", "ledgermetadata.kind": "log"}) == []
    assert selected(scope="12", **{"ledgermetadata.owner": "you"}) == []
    assert selected(scope="all", **{"ledgermetadata.owner": "you", "ledgermetadata.kind": "log"}) == []
    assert {each.levelname for each in caplog.records} == {"WARNING"}
    both = "options ledgerMetadata.owner and ledgerMetadata.kind"
    assert [each.message for each in caplog.records] == [
        "option ledgerMetadata.ownr = 'me': no ledger of scope 0 has this custom metadata",
        "option ledgerMetadata.owner = 'you': no ledger of scope 12 has this custom metadata",
        f"{both}: no ledger of any scope has all of this custom metadata",
    ]


def test_in_a_scope() -> None:
    assert selected(ledger="7", scope="12") == [SCOPED]
    assert selected(ledger=SCOPED.qualified_name) == [SCOPED]
    assert selected(ledgers="8-", scope="12") == [OTHER]
    assert selected(ledgers="7-9", scope="12") == [SCOPED, OTHER]
    assert selected(scope="all", **{"ledgermetadata.owner": "me"}) == [1, 3, 5, 7, SCOPED]


def test_a_named_ledger_must_be_there() -> None:
    with pytest.raises(NoSuchLedger, match=r"ledger 99: .*failOnDataLoss=false"):
        selected(ledgers="1,99")
    with pytest.raises(NoSuchLedger, match=r"ledger 98 \(and 1 more like it\): "):
        selected(ledgers="1,99,98")
    assert lost(StoreOfDict({1: closed_ledger(1)}), ledgers="1,99") == [99]


def test_a_ledger_that_is_left_out_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert lost(StoreOfDict({1: closed_ledger(1)}), ledgers="1,99") == [99]
    assert not caplog.records
    assert lost(StoreOfDict({1: closed_ledger(1)}), ledgers="1,99", failOnDataLoss="false") == [99]
    assert [each.message for each in caplog.records] == ["ledger 99 is left out: There is no such ledger."]


def test_a_ledger_that_went_since_it_was_listed_is_no_loss() -> None:
    assert selected(StoreOfDict({1: closed_ledger(1)}, listed=[2]), ledgers="0-") == [1]


def test_metadata_that_cannot_be_read_is_a_loss() -> None:
    broken = StoreOfDict({1: closed_ledger(1), 2: MetadataCorrupt("bad bytes")})
    with pytest.raises(MetadataCorrupt, match="ledger 2: bad bytes"):
        selected(broken, ledgers="0-")
    assert lost(broken, ledgers="0-", failOnDataLoss="false") == [2]

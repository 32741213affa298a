"""The ledgers and entries that a job reads, fixed when it begins."""

from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.spark.jobs.pinned_ledgers import _Looked, _pinned_options, _Span, _span, spans_of
from bookkeeper_tx.spark.options.option import LEDGERS, Use
from bookkeeper_tx.spark.options.options import Options

SCOPED = LedgerId(5, 7)


def options(**values: str) -> Options:
    return Options.from_spark({"metadataServiceUri": "sqlite:///x", "ledgers": "0-", **values}, Use.READ)


def test_consecutive_ids_are_a_range() -> None:
    text = spans_of([9, 3, 1, 2, SCOPED, LedgerId(6, 7), 8, 20])
    assert text == f"1-3,8-9,20,{SCOPED.qualified_name},{LedgerId(6, 7).qualified_name}"
    assert LEDGERS.parse(text)[:3] == ((1, 3), (8, 9), (20, 20))
    assert spans_of([]) == ""


def test_a_closed_ledger_is_read_whole() -> None:
    assert _span(_Looked(3, True, 10, 500, None), options(), 10) == _Span(3, 0, 10, 500)


def test_offsets_cut_it_and_its_bytes_are_not_known_then() -> None:
    cut = options(startingOffsets='{"3": 4}', endingOffsets='{"3": 7}')
    assert _span(_Looked(3, True, 10, 500, None), cut, 10) == _Span(3, 4, 7, None)
    assert _span(_Looked(4, True, 10, 500, None), cut, 10) == _Span(4, 0, 10, 500)
    behind = options(startingOffsets='{"3": 8}', endingOffsets='{"3": 7}')
    assert _span(_Looked(3, True, 10, 500, None), behind, 10) == _Span(3, 8, 8, None)


def test_an_open_ledger_is_read_up_to_what_was_confirmed() -> None:
    assert _span(_Looked(3, False, 0, 0, None), options(), 6) == _Span(3, 0, 6, None)
    found = _pinned_options({"ledgerMetadata.app": "x", "batch": "false"}, [3, 4], [_Span(3, 0, 6, None)], {3: 6})
    assert found == {"batch": "false", "ledgers": "3-4", "endingOffsets": '{"3": 6}'}


def test_ends_that_were_asked_for_stay() -> None:
    spans = [_Span(3, 0, 6, None), _Span(4, 0, 2, None)]
    found = _pinned_options({"endingoffsets": '{"4": 2}'}, [3, 4], spans, {3: 6})
    assert found == {"ledgers": "3-4", "endingOffsets": '{"3": 6, "4": 2}'}

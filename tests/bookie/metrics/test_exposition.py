"""bookkeeper_tx.bookie.metrics.exposition: text that Prometheus' own parser reads."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bookkeeper_tx.bookie.metrics.exposition import Exposition, name_of_path
from bookkeeper_tx.bookie.metrics.summary import Outcomes


def test_names_are_as_they_are_given() -> None:
    out = Exposition()
    out.counter("bookie_WRITE_BYTES", 7)
    out.gauge("queue", 1.5, thread='a"b\\c')
    assert out.text == (
        '# TYPE bookie_WRITE_BYTES counter\nbookie_WRITE_BYTES 7\n# TYPE queue gauge\nqueue{thread="a\\"b\\\\c"} 1.5\n'
    )


def test_a_type_is_told_once() -> None:
    out = Exposition()
    out.gauge("queue", 1, thread="a")
    out.gauge("queue", 2, thread="b")
    assert out.text.count("# TYPE") == 1


def test_a_summary_has_quantiles_counts_and_sums_of_both_outcomes() -> None:
    outcomes = Outcomes(lambda: 0.0)
    outcomes.observe(10, succeeded=True, weight=2)
    out = Exposition()
    out.summary("add", outcomes, journal="0")
    (family,) = text_string_to_metric_families(out.text)
    assert family.type == "summary"
    found = {(each.name, *sorted(each.labels.items())): each.value for each in family.samples}
    success, journal = ("success", "true"), ("journalIndex", "0")
    assert found["add_count", journal, success] == 2
    assert found["add_sum", journal, success] == 20
    assert found["add", journal, ("quantile", "0.999"), success] == pytest.approx(10, rel=0.06)
    assert found["add_count", journal, ("success", "false")] == 0


def test_the_sum_of_samples_is_estimated() -> None:
    outcomes = Outcomes(lambda: 0.0)
    outcomes.observe(10, succeeded=True)
    out = Exposition()
    out.summary("read", outcomes, (64, 3))
    assert 'read_count{success="true"} 64' in out.text
    assert 'read_sum{success="true"} 640' in out.text
    assert 'read_count{success="false"} 3' in out.text


def test_a_path_is_part_of_a_name() -> None:
    assert name_of_path("/pulsar/data/bookkeeper/ledgers-0") == "_pulsar_data_bookkeeper_ledgers_0"

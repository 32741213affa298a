"""A bookie that hangs: its connections are taken, and nothing is answered; a read ends by ``readTimeoutMs``."""

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.spark.jobs.failure import one_line
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.our_client import OurClient, append_and_close
from tests.integration.support.stopped import stopped

pytestmark = [pytest.mark.spark, pytest.mark.full]

PAYLOADS = [b"payload %d" % each for each in range(20)]


@frozen
class Site:
    """Two bookies, of which the second one hangs."""

    uri: str
    hung: str
    whole: int
    """A ledger that both have."""
    striped: int
    """One of which each has every second entry."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with LocalCluster(tmp_path_factory.mktemp("hung"), 2) as cluster:
        with OurClient(cluster.metadata_uri) as ours:
            whole = append_and_close(ours.create_ledger(2, 2, 2), PAYLOADS)
            striped = append_and_close(ours.create_ledger(2, 1, 1), PAYLOADS)
        hung = cluster.bookies[1]
        with stopped(hung.pid):
            yield Site(cluster.metadata_uri, hung.bookie_id, whole, striped)


def load(spark: Any, site: Site, table: str = "entries", **options: Any) -> Any:
    return spark.read.format("bookkeeper").options(metadataServiceUri=site.uri, **options).load(table, table=table)


def test_what_another_bookie_has_is_read(spark: Any, site: Site) -> None:
    rows = load(spark, site, ledger=site.whole, readTimeoutMs=1000).orderBy("entry_id").collect()
    assert [bytes(row.payload) for row in rows] == PAYLOADS


def test_what_it_alone_has_names_it_and_what_to_do(spark: Any, site: Site) -> None:
    with pytest.raises(Exception, match=r"(?s).") as caught:
        load(spark, site, ledger=site.striped, readTimeoutMs=700, numRetries=0).collect()
    text = one_line(caught.value)
    assert f"bookie {site.hung} did not answer in time" in text
    assert "readTimeoutMs, numRetries and retryIntervalMs say how long to wait" in text


def test_a_scrub_says_what_it_could_not_ask_and_judges_the_others(spark: Any, site: Site) -> None:
    rows = load(spark, site, table="replicas", readTimeoutMs=700, numRetries=0).collect()
    assert {(row.ledger_id, row.verdict, row.error) for row in rows if row.bookie == site.hung} == {
        (each, "unknown", f"unknown: bookie {site.hung} did not answer in time") for each in (site.whole, site.striped)
    }
    assert {(row.ledger_id, row.verdict) for row in rows if row.bookie != site.hung} == {
        (each, "ok") for each in (site.whole, site.striped)
    }

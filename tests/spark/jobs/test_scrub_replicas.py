"""The ranges that scrub reads entry by entry, in reads small enough for an option; and options that it sets itself."""

import pytest

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark.jobs.arguments import Cluster
from bookkeeper_tx.spark.jobs.scrub_replicas import ScrubSettings, in_goes, run
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.options.entry_ranges import EntryRanges


def test_ranges_are_shared_out_and_a_ledger_stays_whole() -> None:
    ranges = EntryRanges.of(
        (ledger, 10 * each, 10 * each) for ledger, parts in ((1, 2), (2, 2), (3, 5)) for each in range(parts)
    )
    goes = [list(go.of_ledger) for go in in_goes(ranges, 4)]
    assert goes == [[1, 2], [3]]
    assert [list(go.of_ledger) for go in in_goes(ranges, 3)] == [[1], [2], [3]]
    assert list(in_goes(EntryRanges({}), 3)) == []


def test_bookies_are_asked_for_orphans_of_scope_0_alone() -> None:
    with pytest.raises(InvalidConfig, match="--orphans-in asks for ledgers of scope 0"):
        run(None, ScrubSettings(Cluster("zk://a", {"Scope": "12"}), orphans_in="0-"), Progress())


@pytest.mark.parametrize("name", ["perEntry", "ids", "IDS"])
def test_an_option_that_scrub_sets_itself_is_refused(name: str) -> None:
    with pytest.raises(InvalidConfig, match=f"option {name}: .* leave it out".replace("IDS", "ids")):
        run(None, ScrubSettings(Cluster("zk://a", {name: "1"})), Progress())

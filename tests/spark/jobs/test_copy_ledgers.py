"""The options for which a copy is refused before anything is read."""

import pytest

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark.jobs.arguments import Cluster
from bookkeeper_tx.spark.jobs.copy_ledgers import check_options


@pytest.mark.parametrize("options", [{}, {"ledgers": "1,5-9"}, {"scope": "all", "batch": "false"}])
def test_all_ledgers_or_some_may_be_copied(options: dict[str, str]) -> None:
    check_options(Cluster("sqlite:///m", options))


@pytest.mark.parametrize(
    "option",
    [
        "startingOffsets=earliest",
        "ENDINGOFFSETS=latest",
        "includeLost=true",
        "includeDigest=true",
        "failOnDataLoss=false",
        "includePayload=false",
    ],
)
def test_a_copy_has_every_entry_and_none_that_is_corrupt(option: str) -> None:
    name, _, value = option.partition("=")
    with pytest.raises(InvalidConfig, match=name):
        check_options(Cluster("sqlite:///m", {name: value}))

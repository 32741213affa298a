"""The metadata that Pulsar's own tool makes for a cluster, before there are bookies and after."""

import pytest

from tests.integration.pulsar.site import Site

pytestmark = [pytest.mark.java, pytest.mark.full]

COMPLETED = {"LAYOUT", "cookies"}


def test_the_first_bookie_completes_what_pulsar_has_begun(site: Site) -> None:
    assert {"INSTANCEID", "available"} <= site.begun_by_pulsar
    assert not COMPLETED & site.begun_by_pulsar
    assert site.ledgers_root() >= site.begun_by_pulsar | COMPLETED


def test_bookies_of_both_classes_of_storage_keep_the_entries(site: Site) -> None:
    stored = [bookie.directory / "data/current" for bookie in site.bookies.bookies]
    assert [(each / "locations").is_dir() for each in stored] == [True, True, False]

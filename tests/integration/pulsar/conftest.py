"""One Pulsar cluster for all tests of Pulsar; it takes half a minute to start."""

from collections.abc import Generator, Iterator

import pytest

from tests.integration.pulsar.site import Site, running_site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("pulsar")) as running:
        yield running


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the ends of the logs under a failed test."""
    report = yield
    site = getattr(item, "funcargs", {}).get("site")
    if report.failed and isinstance(site, Site):
        report.sections.append(("Pulsar broker", site.broker.log_end()))
        report.sections += [(f"bookie {bookie.bookie_id}", bookie.log_end()) for bookie in site.bookies.bookies]
    return report

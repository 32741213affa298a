"""Metrics of the local scrubber."""

from collections.abc import Callable
from typing import Final

from bookkeeper_tx.bookie.metrics.exposition import Exposition
from bookkeeper_tx.bookie.metrics.summary import Outcomes
from bookkeeper_tx.bookie.scrubber import Scrubber

MILLISECONDS_PER_S: Final = 1000


class ScrubMetrics:
    """Is told of each run, and of each page; 0 for everything without a scrubber."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._runs = Outcomes(seconds)
        self._pages = Outcomes(seconds)
        self._scrubber: Scrubber | None = None

    def watch(self, scrubber: Scrubber) -> None:
        """Look at a scrubber from now on."""
        self._scrubber = scrubber
        scrubber.on_run = lambda took_s, succeeded: self._runs.observe(took_s * MILLISECONDS_PER_S, succeeded)
        scrubber.on_page = lambda took_s, succeeded: self._pages.observe(took_s * MILLISECONDS_PER_S, succeeded)

    def write(self, out: Exposition) -> None:
        """Write them."""
        scrubber = self._scrubber
        out.summary("scrubber_runTime", self._runs)
        out.counter("scrubber_detectedScrubErrors", 0 if scrubber is None else scrubber.error_count)
        out.counter("scrubber_detectedFatalScrubErrors", 0 if scrubber is None else scrubber.fatal_count)
        out.summary("bookie_STORAGE_SCRUB_PAGES_SCANNED", self._pages)
        out.counter("bookie_STORAGE_SCRUB_PAGE_RETRIES", 0 if scrubber is None else scrubber.retry_count)

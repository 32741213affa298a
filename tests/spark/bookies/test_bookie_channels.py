"""Channels to bookies whose demands on a connection are not met."""

from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import AuthenticationFailed, BookKeeperError, TlsFailed
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from tests.spark.bookies.stored_entries import PASSWORD, Site, sealed


@pytest.mark.parametrize("failure", [TlsFailed("its certificate has expired"), AuthenticationFailed("unanswered")])
def test_the_others_are_read_from_and_it_is_asked_last(failure: BookKeeperError) -> None:
    site = Site(2)
    site.store([sealed(entry_id) for entry_id in range(20)])
    attempts: list[str] = []

    def connect(host: str, port: int, config: ClientConfig) -> Any:
        attempts.append(host)
        if host == "b0":
            raise failure
        return site.bookies[1].connect()

    channels = BookieChannels(
        {name: (name, 3181) for name in site.names}, clock=lambda: site.now, sleep=site.sleep, connect=connect
    )
    ledger = site.ledger(0, 19)
    for _ in range(2):
        (run,) = LedgerReader(channels, ledger, PASSWORD).runs()
        assert run.count == 20  # type: ignore[union-attr]
    assert attempts == ["b0", "b1"], "it may take long to find out"
    assert channels.quarantined("b0")
    again = LedgerReader(channels, site.ledger(0, 19, 1), PASSWORD)
    with pytest.raises(type(failure), match=f"b0: {failure}"):
        list(again.runs())
    assert attempts == ["b0", "b1"]
    site.now += 60
    with pytest.raises(type(failure), match=f"b0: {failure}"):
        list(again.runs())
    assert attempts == ["b0", "b1", "b0"]

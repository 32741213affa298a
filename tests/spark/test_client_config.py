"""Options as settings of connections."""

import pytest

from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark.client_config import client_config
from bookkeeper_tx.spark.option import Use
from bookkeeper_tx.spark.options import Options


def options(**values: str) -> Options:
    return Options.from_spark({"metadataServiceUri": "sqlite:///m", "ledger": "1", **values}, Use.READ)


def test_options_and_java_s_keys() -> None:
    found = client_config(options(readTimeoutMs="1500", batch="false"))
    assert (found.read_timeout_s, found.batch_read_enabled) == (1.5, False)
    keys = {"bookkeeper.client.readentrytimeoutsec": "7", "bookkeeper.client.useV2WireProtocol": "false"}
    found = client_config(options(readTimeoutMs="1500", **keys))
    assert (found.read_timeout_s, found.protocol) == (7, WireProtocol.V3)


def test_a_wrong_key_or_value_is_named() -> None:
    with pytest.raises(InvalidConfig, match=r"bookkeeper\.client\.tlsprovider does nothing here.*neither TLS nor SASL"):
        client_config(options(**{"bookkeeper.client.tlsprovider": "x"}))
    with pytest.raises(InvalidConfig, match=r"option bookkeeper\.client\.readEntryTimeoutSec = soon: not a whole"):
        client_config(options(**{"bookkeeper.client.readentrytimeoutsec": "soon"}))
    with pytest.raises(InvalidConfig, match=r"option bookkeeper\.client\.readEntryTimeoutSec = 9999999: .*than a week"):
        client_config(options(**{"bookkeeper.client.readentrytimeoutsec": "9999999"}))

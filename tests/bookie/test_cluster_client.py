"""bookkeeper_tx.bookie.cluster_client: how a bookie comes to others."""

from typing import Any

from attrs import evolve
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.cluster_client import cluster_client
from bookkeeper_tx.config import MIB, BookieConfig
from bookkeeper_tx.security.sasl import SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig

CONFIG = BookieConfig(metadata_uri="sqlite:///metadata.db", journal_directory="", ledger_directory="")


def settings_of(config: BookieConfig) -> Any:
    return cluster_client(Clock(), config, 7 * MIB)._context.config


def test_it_reads_ahead_as_much_as_it_is_told() -> None:
    assert settings_of(CONFIG).read_bytes_max == 7 * MIB


def test_it_has_the_certificate_and_the_password_that_the_file_of_the_bookie_has_for_it() -> None:
    tls, auth = TlsConfig(trust_path="authority.pem"), SaslClient("bookkeeper", "password")
    found = settings_of(evolve(CONFIG, client_tls=tls, client_auth=auth))
    assert (found.tls, found.auth) == (tls, auth)
    assert (settings_of(CONFIG).tls, settings_of(CONFIG).auth) == (None, None)

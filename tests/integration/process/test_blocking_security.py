"""Reading and writing without a reactor, over TLS and with passwords, on bookies of ours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    NotEnoughBookies,
    TlsFailed,
    Unauthorized,
)
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.security.sasl import SaslLogin
from bookkeeper_tx.spark.bookies.last_add_confirmed import last_add_confirmed
from bookkeeper_tx.spark.bookies.recover import recover_ledger
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.certificates import Authority
from tests.integration.support.blocking_client import channels_of, read, read_refusal, write, write_refusal
from tests.integration.support.our_client import OurClient, append
from tests.integration.support.security import JAAS_FILE, Secrets

PAYLOADS = [b"%d" % index * (index * 7 % 3000) for index in range(500)] + [b"x" * 4_000_000]

both_dialects = pytest.mark.parametrize("protocol", ["v2", "v3"])


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Secrets:
    return Secrets.make(tmp_path_factory.mktemp("secrets"))


@pytest.fixture(scope="module")
def cluster(secrets: Secrets, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Bookies that require certificate and password inside TLS, and the password alone without TLS."""
    settings = {**secrets.bookie_tls(), **secrets.bookie_sasl, **secrets.jaas}
    with LocalCluster(tmp_path_factory.mktemp("cluster"), 2, settings=settings) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def tls_cluster(secrets: Secrets, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A bookie with TLS that asks for neither."""
    settings = secrets.bookie_tls(tlsClientAuthentication="false")
    with LocalCluster(tmp_path_factory.mktemp("tls"), 1, settings=settings) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def login(secrets: Secrets) -> SaslLogin:
    return SaslLogin(str(secrets.jaas[JAAS_FILE]), "BookKeeper")


@both_dialects
@pytest.mark.parametrize("batch", [True, False], ids=["batch", "singles"])
def test_with_certificate_and_password(
    cluster: LocalCluster, secrets: Secrets, login: SaslLogin, protocol: str, batch: bool
) -> None:
    config = ClientConfig(protocol=protocol, tls=secrets.client_tls(), auth=login)  # type: ignore[arg-type]
    ledger_id = write(cluster.metadata_uri, config, PAYLOADS, 2, 2, 2)
    assert read(cluster.metadata_uri, config, ledger_id, batch=batch) == PAYLOADS


@both_dialects
def test_with_a_password_in_clear(cluster: LocalCluster, login: SaslLogin, protocol: str) -> None:
    config = ClientConfig(protocol=protocol, auth=login)  # type: ignore[arg-type]
    ledger_id = write(cluster.metadata_uri, config, PAYLOADS, 2, 2, 2)
    assert read(cluster.metadata_uri, config, ledger_id) == PAYLOADS


@both_dialects
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_with_tls_alone(tls_cluster: LocalCluster, secrets: Secrets, protocol: str, version: str) -> None:
    tls = secrets.client_only_tls(hostname_verification=True, protocols=(version,))
    config = ClientConfig(protocol=protocol, tls=tls)  # type: ignore[arg-type]
    ledger_id = write(tls_cluster.metadata_uri, config, PAYLOADS)
    assert read(tls_cluster.metadata_uri, config, ledger_id) == PAYLOADS


def test_the_end_of_an_open_ledger_and_its_recovery(cluster: LocalCluster, secrets: Secrets, login: SaslLogin) -> None:
    config = ClientConfig(tls=secrets.client_tls(), auth=login)
    with OurClient(cluster.metadata_uri, tls=config.tls, auth=login) as client:
        writer = client.create_ledger(2, 2, 2)
        append(writer, PAYLOADS[:20])
        append(writer, [b"more"])
        with open_blocking_store(cluster.metadata_uri) as store, channels_of(store, config) as channels:
            metadata = store.read_ledger(writer.ledger_id).metadata
            digest = EntryDigest(DigestType.CRC32C, b"")
            assert last_add_confirmed(channels, writer.ledger_id, metadata, digest) == 19
        recovered = recover_ledger(cluster.metadata_uri, writer.ledger_id, b"", config=config)
        assert (recovered.closed, recovered.last_entry_id) == (True, 20)


@both_dialects
def test_what_is_refused(cluster: LocalCluster, secrets: Secrets, login: SaslLogin, protocol: str) -> None:
    uri, right = cluster.metadata_uri, ClientConfig(protocol=protocol, auth=login)  # type: ignore[arg-type]
    ledger_id = write(uri, right, [b"x"], 2, 2, 2)
    authority = Authority(secrets.directory, "another authority")
    # V2 has no words for a refusal.
    refused_login = AuthenticationFailed if protocol == "v3" else AuthenticationUnanswered
    expired = secrets.client_tls(secrets.authority.issue("expired", expired=True))
    for settings, kind, words in [
        ({"auth": None}, Unauthorized, "it wants authentication, and none is configured"),
        ({"auth": None, "tls": secrets.client_tls()}, Unauthorized, "it wants authentication"),
        ({"auth": evolve(login, section="Wrong")}, refused_login, "may be wrong|refused the credentials"),
        ({"auth": evolve(login, path="/nowhere/jaas")}, AuthenticationFailed, "/nowhere/jaas: cannot be read"),
        ({"tls": secrets.client_only_tls()}, TlsFailed, "tlsCertificatePath"),
        ({"tls": expired}, TlsFailed, "our certificate has expired"),
        ({"tls": secrets.client_tls(trust_path=str(authority.path))}, TlsFailed, "not in the trust store"),
    ]:
        config = evolve(right, **settings)
        error = read_refusal(uri, config, ledger_id)
        assert (type(error), any(each in str(error) for each in words.split("|"))) == (kind, True), str(error)
        refused = write_refusal(uri, config)
        assert isinstance(refused, kind if kind is Unauthorized else (NotEnoughBookies, kind))
        assert kind is Unauthorized or any(each in str(refused) for each in words.split("|")), str(refused)


def test_a_certificate_for_another_host(secrets: Secrets, tmp_path: Path) -> None:
    settings = secrets.bookie_tls(secrets.authority.issue("elsewhere", ("elsewhere",)), tlsClientAuthentication="false")
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        config = ClientConfig(tls=secrets.client_only_tls())
        ledger_id = write(cluster.metadata_uri, config, [b"x"])
        checking: Any = ClientConfig(tls=secrets.client_only_tls(hostname_verification=True))
        error = read_refusal(cluster.metadata_uri, checking, ledger_id)
        assert "is not for 127.0.0.1, the host it has registered" in str(error)


def test_a_bookie_without_tls(secrets: Secrets, tmp_path: Path) -> None:
    with LocalCluster(tmp_path, 1) as cluster:
        ledger_id = write(cluster.metadata_uri, ClientConfig(), [b"x"])
        error = read_refusal(cluster.metadata_uri, ClientConfig(tls=secrets.client_tls()), ledger_id)
        assert (type(error), "does not offer TLS: configure it there" in str(error)) == (TlsFailed, True)

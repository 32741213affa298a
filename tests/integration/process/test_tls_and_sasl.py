"""Our client and our bookie with each other, over TLS and with passwords, in both protocol versions."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    BookKeeperError,
    NoSuchLedger,
    NotEnoughBookies,
    TlsFailed,
    Unauthorized,
)
from bookkeeper_tx.model import BookieServiceInfo
from bookkeeper_tx.security.sasl import SaslClient
from bookkeeper_tx.testing.local_cluster import LocalCluster
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from tests.certificates import Authority
from tests.cli.bktx_process import bktx
from tests.integration.support.our_client import OurClient, append, make_driver, poll, read, wait_for
from tests.integration.support.security import Secrets, fingerprint
from tests.integration.support.stopped import stopped
from tests.plain_auth import PlainClient
from tests.sampling import only

PAYLOADS = [b"%d" % index * (index * 7 % 3000) for index in range(500)]

each_face = pytest.mark.usefixtures("face")
both_dialects = pytest.mark.parametrize("protocol", only("v3", ["v2", "v3"]))


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Secrets:
    return Secrets.make(tmp_path_factory.mktemp("secrets"))


@pytest.fixture(scope="module")
def cluster(secrets: Secrets, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Bookies that require certificate and password inside TLS, and the password alone without TLS."""
    settings = {**secrets.bookie_tls(), **secrets.bookie_sasl, **secrets.jaas}
    with LocalCluster(tmp_path_factory.mktemp("cluster"), 2, settings=settings) as cluster:
        yield cluster


def writes_and_reads(cluster: LocalCluster, **settings: Any) -> None:
    with OurClient(cluster.metadata_uri, **settings) as client:
        writer = client.create_ledger(2, 2, 2)
        append(writer, [*PAYLOADS, b"x" * 4_000_000])
        reader = client.open_ledger(writer.ledger_id)
        assert read(reader, 0, len(PAYLOADS) - 1) == PAYLOADS
        assert read(reader, 0, len(PAYLOADS), batch=True) == [*PAYLOADS, b"x" * 4_000_000]


@each_face
@both_dialects
def test_with_tls_and_password(cluster: LocalCluster, secrets: Secrets, protocol: str) -> None:
    writes_and_reads(cluster, protocol=protocol, tls=secrets.client_tls(), auth=secrets.client_sasl)
    assert all(fingerprint(secrets.client) in bookie.log for bookie in cluster.bookies)


@each_face
@both_dialects
def test_with_a_password_in_clear(cluster: LocalCluster, secrets: Secrets, protocol: str) -> None:
    writes_and_reads(cluster, protocol=protocol, auth=secrets.client_sasl)


def refusal(cluster: LocalCluster, **settings: Any) -> BookKeeperError:
    with OurClient(cluster.metadata_uri, **settings) as client, pytest.raises(BookKeeperError) as refused:
        append(client.create_ledger(), [b"x"])
    return refused.value


@each_face
@both_dialects
def test_another_bookie_takes_the_place_of_one_that_hangs_on_the_credentials(
    cluster: LocalCluster, secrets: Secrets, protocol: str
) -> None:
    with OurClient(cluster.metadata_uri, protocol=protocol, auth=secrets.client_sasl, connect_timeout_s=1.0) as client:
        writer = client.create_ledger()
        (bookie_id,) = writer.metadata.last_fragment.ensemble
        with stopped(cluster.bookies[cluster.index_of(bookie_id)].pid):
            append(writer, [b"x"])
        assert bookie_id not in writer.metadata.last_fragment.ensemble


@each_face
@both_dialects
def test_a_wrong_password(cluster: LocalCluster, secrets: Secrets, protocol: str) -> None:
    wrong = SaslClient("bookkeeper-reader", "wrong")
    for auth in (wrong, PlainClient()):
        error = refusal(cluster, protocol=protocol, auth=auth)
        if protocol == "v3":
            assert isinstance(error, AuthenticationFailed)
        else:
            # V2 has no words for a refusal.
            assert isinstance(error, NotEnoughBookies)
            assert "they may be wrong" in str(error)


@each_face
@both_dialects
def test_no_password(cluster: LocalCluster, secrets: Secrets, protocol: str) -> None:
    assert isinstance(refusal(cluster, protocol=protocol), Unauthorized)
    assert isinstance(refusal(cluster, protocol=protocol, tls=secrets.client_tls()), Unauthorized)


def failure(cluster: LocalCluster, **settings: Any) -> BookKeeperError | None:
    """The error of one request to the first bookie."""
    info = BookieServiceInfo("127.0.0.1", cluster.bookies[0].port)

    async def ask() -> BookKeeperError | None:
        driver = make_driver()
        channel = BookieChannel(driver, lambda: driver.succeed(info), ClientConfig(**settings))
        answered: Promise[BookKeeperError | None] = driver.promise()
        channel.read_entry(2**40, 0, lambda error, _: answered.callback(error))
        try:
            return await answered
        finally:
            await channel.close()

    error: BookKeeperError | None = wait_for(ask)
    return error


@each_face
@both_dialects
def test_certificates_that_are_refused(cluster: LocalCluster, secrets: Secrets, protocol: str, tmp_path: Path) -> None:
    words = "certificate"
    expired = secrets.client_tls(secrets.authority.issue("expired", expired=True))
    stranger = secrets.client_tls(Authority(tmp_path).issue("stranger"))
    distrusting = secrets.client_tls(trust_path=str(Authority(tmp_path, "another authority").path))
    auth = secrets.client_sasl
    assert isinstance(failure(cluster, protocol=protocol, auth=auth, tls=secrets.client_tls()), NoSuchLedger)
    for tls in (secrets.client_only_tls(), expired, stranger, distrusting):
        error = failure(cluster, protocol=protocol, tls=tls, auth=auth)
        assert isinstance(error, TlsFailed)
        assert re.search(words, str(error))


@pytest.mark.full
@each_face
def test_a_certificate_for_another_host(secrets: Secrets, tmp_path: Path) -> None:
    settings = secrets.bookie_tls(secrets.authority.issue("elsewhere", ("elsewhere",)), tlsClientAuthentication="false")
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        seen = PlainClient()
        with OurClient(cluster.metadata_uri, tls=secrets.client_only_tls(), auth=seen) as client:
            append(client.create_ledger(), [b"x"])
        assert [peer.secure for peer in seen.peers] == [True]
        checking = secrets.client_only_tls(hostname_verification=True)
        assert re.search("not for 127.0.0.1", str(failure(cluster, tls=checking)))


@each_face
def test_a_bookie_without_tls_is_not_spoken_to(secrets: Secrets, tmp_path: Path) -> None:
    with LocalCluster(tmp_path, 1) as cluster:
        assert isinstance(failure(cluster, tls=secrets.client_tls()), TlsFailed)


@each_face
def test_a_renewed_certificate_without_a_restart(secrets: Secrets, tmp_path: Path) -> None:
    first = secrets.authority.issue("renewed")
    settings = secrets.bookie_tls(first, tlsCertFilesRefreshDurationSeconds=1)
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        plugin = PlainClient()

        def certificate() -> bytes | None:
            with OurClient(cluster.metadata_uri, tls=secrets.client_tls(), auth=plugin) as client:
                append(client.create_ledger(), [b"x"])
            return plugin.peers[-1].certificate

        with OurClient(cluster.metadata_uri, tls=secrets.client_tls(), auth=plugin) as lasting:
            writer = lasting.create_ledger()
            append(writer, [b"before"])
            assert plugin.peers[-1].certificate == first.der
            second = secrets.authority.issue("renewed")
            assert poll(lambda: certificate() == second.der)
            assert append(writer, [b"after"]) == [1], "over the connection that it has"


@pytest.mark.full
@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"tlsKeyStore": "/nowhere/key"}, "/nowhere/key"),
        ({"tlsKeyStoreType": "JKS"}, "tlsKeyStoreType = PEM"),
        ({"bookieAuthProviderFactoryClass": "com.example.Own"}, "SASLBookieAuthProviderFactory"),
    ],
)
def test_a_bookie_whose_security_cannot_be_had_does_not_start(
    secrets: Secrets, tmp_path: Path, keys: dict[str, str], named: str
) -> None:
    with LocalCluster(tmp_path, 0) as cluster, pytest.raises(Exception, match=named):
        cluster.add_bookie(settings={**secrets.bookie_tls(), **keys})


@pytest.mark.full
@both_dialects
def test_bktx_with_the_keys_of_a_java_client(
    cluster: LocalCluster, secrets: Secrets, protocol: str, tmp_path: Path
) -> None:
    keys = {**secrets.java_client_tls(), **secrets.java_client_sasl, **secrets.jaas}
    file = tmp_path / "client.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    command = ("ledger", "write", "--metadata", cluster.metadata_uri, "--replicas", "1", "--protocol", protocol)
    written = bktx("--client-config", str(file), *command, stdin=b"one\ntwo\n")
    assert written.returncode == 0, written.stderr
    ledger_id = re.search(r"ledger (\d+)", (written.stdout + written.stderr).decode())
    assert ledger_id is not None
    command = ("ledger", "read", ledger_id[1], "--metadata", cluster.metadata_uri, "--protocol", protocol)
    assert b"one" in bktx(*command, BKTX_CLIENT_CONFIG=str(file)).stdout
    file.write_text(file.read_text() + "saslJaasClientSectionName=Wrong\n")
    refused = bktx(*command, BKTX_CLIENT_CONFIG=str(file))
    assert refused.returncode == 1
    assert b"unexpected" not in refused.stderr

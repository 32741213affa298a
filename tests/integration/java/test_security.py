"""TLS and SASL between ours and Java's: every combination of both, either role, either protocol version.

One combination does not work between Java and Java, and so does not appear: a V2 client of Java's with both TLS and
SASL on a bookie of Java's.  The bookie sends that client a V3 frame inside TLS.  On a bookie of ours it works.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    BookKeeperError,
    NotEnoughBookies,
    TlsFailed,
    Unauthorized,
)
from bookkeeper_tx.security.sasl import SaslClient, SaslLogin
from bookkeeper_tx.testing.local_cluster import LocalBookie, LocalCluster
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.client import JavaClient, JavaError
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.payloads import hash_of, patterns
from tests.integration.support import blocking_client
from tests.integration.support.our_client import OurClient, append, poll, read
from tests.integration.support.security import JAAS_FILE, USER, Secrets, fingerprint
from tests.plain_auth import PlainClient
from tests.sampling import only

pytestmark = [pytest.mark.java, pytest.mark.releases(since="4.14")]

ENTRIES = 300
SIZE = 2000

PATIENT = {"addEntryTimeoutSec": 30, "readEntryTimeoutSec": 30}
"""For Java's client: the first add waits for TLS and the login, and a busy machine may take longer than Java's 5 s."""

both_dialects = pytest.mark.parametrize("protocol", ["v2", "v3"])
securities = pytest.mark.parametrize("security", only("tls+sasl", ["tls", "sasl", "tls+sasl"]))


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Secrets:
    return Secrets.make(tmp_path_factory.mktemp("secrets"))


@pytest.fixture(scope="module")
def targets(zookeeper: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with JavaTargets(new_cluster(zookeeper), tmp_path_factory.mktemp("java")) as targets:
        yield targets


@pytest.fixture(scope="module")
def java_bookie(targets: JavaTargets, secrets: Secrets, zookeeper: Any) -> Callable[[str, str], JavaBookie]:
    """One bookie for each release and security, each in a cluster of its own."""
    started: dict[tuple[str, str], JavaBookie] = {}

    def bookie(release: str, security: str) -> JavaBookie:
        if (release, security) not in started:
            # The Netty of 4.14 reads no key that is encrypted as they are today.
            identity = secrets.client if release.startswith("4.14") else secrets.bookie
            settings = {**(secrets.bookie_tls(identity) if "tls" in security else {})}
            settings |= secrets.bookie_sasl if "sasl" in security else {}
            started[release, security] = targets.bookie(
                release, cluster=new_cluster(zookeeper), settings=settings, properties=secrets.jaas
            )
        return started[release, security]

    return bookie


@pytest.fixture(scope="module")
def our_bookie(secrets: Secrets, zookeeper: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    clusters: dict[str, tuple[Cluster, LocalCluster]] = {}

    def bookie(security: str) -> tuple[Cluster, LocalBookie]:
        if security not in clusters:
            cluster = new_cluster(zookeeper)
            settings: dict[str, Any] = {**secrets.jaas}
            settings |= secrets.bookie_tls() if "tls" in security else {}
            settings |= secrets.bookie_sasl if "sasl" in security else {}
            ours = LocalCluster(tmp_path_factory.mktemp("ours"), 1, metadata_uri=cluster.uri, settings=settings)
            clusters[security] = cluster, ours.__enter__()
        return clusters[security][0], clusters[security][1].bookies[0]

    yield bookie
    for _, ours in clusters.values():
        ours.__exit__(None, None, None)


def java_settings(secrets: Secrets, security: str) -> dict[str, Any]:
    settings = secrets.java_client_tls() if "tls" in security else {}
    return PATIENT | settings | (secrets.java_client_sasl if "sasl" in security else {})


# Our client, Java's bookie -------------------------------------------------------------------------------------------


@both_dialects
@securities
def test_our_client_on_java(
    java_release: str, java_bookie: Any, secrets: Secrets, security: str, protocol: str
) -> None:
    bookie = java_bookie(java_release, security)
    settings: dict[str, Any] = {"tls": secrets.client_tls()} if "tls" in security else {}
    settings |= {"auth": secrets.client_sasl} if "sasl" in security else {}
    payloads = patterns(ENTRIES, SIZE)
    with OurClient(bookie.cluster.uri, protocol=protocol, **settings) as client:
        writer = client.create_ledger()
        assert append(writer, payloads)[-1] == ENTRIES - 1
        reader = client.open_ledger(writer.ledger_id)
        assert read(reader, 0, ENTRIES - 1) == payloads


@pytest.mark.full
@both_dialects
def test_our_client_sees_javas_certificate(
    java_release: str, java_bookie: Any, secrets: Secrets, protocol: str
) -> None:
    bookie = java_bookie(java_release, "tls")
    seen = PlainClient()  # a bookie without authentication lets every plugin pass
    with OurClient(bookie.cluster.uri, protocol=protocol, tls=secrets.client_tls(), auth=seen) as client:
        append(client.create_ledger(), [b"x"])
    expected = secrets.client if java_release.startswith("4.14") else secrets.bookie
    assert {peer.certificate for peer in seen.peers} == {expected.der}


def refusal(uri: str, **settings: Any) -> BookKeeperError:
    with OurClient(uri, connect_timeout_s=2, **settings) as client, pytest.raises(BookKeeperError) as refused:
        append(client.create_ledger(), [b"x"])
    return refused.value


@pytest.mark.full
@both_dialects
def test_java_wants_our_certificate(java_release: str, java_bookie: Any, secrets: Secrets, protocol: str) -> None:
    bookie = java_bookie(java_release, "tls")
    refusal(bookie.cluster.uri, protocol=protocol, tls=secrets.client_only_tls())


@both_dialects
def test_java_says_nothing_to_a_wrong_password(
    java_release: str, java_bookie: Any, secrets: Secrets, protocol: str
) -> None:
    """Our client gives it up after its time-out (S9)."""
    error = refusal(java_bookie(java_release, "sasl").cluster.uri, protocol=protocol, auth=SaslClient(USER, "wrong"))
    assert isinstance(error, NotEnoughBookies)
    assert "unanswered: they may be wrong" in str(error)


# Our client without a reactor, Java's bookie --------------------------------------------------------------------------


def blocking_config(secrets: Secrets, security: str, protocol: str, **settings: Any) -> ClientConfig:
    if "tls" in security:
        settings.setdefault("tls", secrets.client_tls())
    if "sasl" in security:
        settings.setdefault("auth", SaslLogin(str(secrets.jaas[JAAS_FILE]), "BookKeeper"))
    return ClientConfig(protocol=protocol, **settings)  # type: ignore[arg-type]


@pytest.mark.full
@both_dialects
@securities
def test_our_blocking_client_on_java(
    java_release: str, java_bookie: Any, secrets: Secrets, security: str, protocol: str
) -> None:
    uri = java_bookie(java_release, security).cluster.uri
    config = blocking_config(secrets, security, protocol)
    payloads = patterns(ENTRIES, SIZE)
    ledger_id = blocking_client.write(uri, config, payloads)
    for batch in (True, False):
        assert blocking_client.read(uri, config, ledger_id, batch=batch) == payloads


@pytest.mark.full
@both_dialects
def test_what_java_refuses_our_blocking_client(
    java_release: str, java_bookie: Any, secrets: Secrets, protocol: str
) -> None:
    def refusal(security: str, **settings: Any) -> tuple[type[BookKeeperError], str]:
        uri = java_bookie(java_release, security).cluster.uri
        ledger_id = blocking_client.write(uri, blocking_config(secrets, security, protocol), [b"x"])
        config = blocking_config(secrets, security, protocol, **settings)
        error = blocking_client.read_refusal(uri, config, ledger_id)
        assert isinstance(blocking_client.write_refusal(uri, config), type(error) | NotEnoughBookies)
        return type(error), str(error)

    wrong = SaslLogin(str(secrets.jaas[JAAS_FILE]), "Wrong")
    for security in ("sasl", "tls+sasl"):
        kind, text = refusal(security, auth=wrong, connect_timeout_s=3)
        assert (kind, "unanswered: they may be wrong" in text) == (AuthenticationUnanswered, True), text
        kind, text = refusal(security, auth=None)
        assert kind in (Unauthorized, AuthenticationFailed), text
        assert "it wants authentication, and none is configured" in text
    kind, text = refusal("tls", tls=secrets.client_only_tls())
    assert (kind, "tlsCertificatePath" in text) == (TlsFailed, True), text
    kind, text = refusal("sasl", tls=secrets.client_tls())
    assert (kind, "does not offer TLS: configure it there" in text) == (TlsFailed, True), text


# Java's client, our bookie -------------------------------------------------------------------------------------------


@both_dialects
@securities
def test_javas_client_on_ours(
    java_release: str, our_bookie: Any, targets: JavaTargets, secrets: Secrets, security: str, protocol: str
) -> None:
    cluster, bookie = our_bookie(security)
    settings = java_settings(secrets, security)
    client: JavaClient = targets.client(
        java_release, cluster=cluster, v2=protocol == "v2", settings=settings, properties=secrets.jaas
    )
    writer = client.create_ledger()
    assert writer.append_many(ENTRIES, SIZE, seed=7).acknowledged == ENTRIES
    reader = client.open_ledger(writer.ledger_id)
    assert reader.read_hash(0, ENTRIES - 1) == (ENTRIES, hash_of(patterns(ENTRIES, SIZE, seed=7)))
    client.stop()
    if "tls" in security:
        assert fingerprint(secrets.client) in bookie.log, "the client's certificate is seen"


@pytest.mark.full
@both_dialects
def test_ours_refuses_javas_wrong_password(
    java_release: str, our_bookie: Any, targets: JavaTargets, secrets: Secrets, protocol: str
) -> None:
    cluster, bookie = our_bookie("sasl")
    settings = {**secrets.java_client_sasl, "saslJaasClientSectionName": "Wrong"}
    client = targets.client(
        java_release, cluster=cluster, v2=protocol == "v2", settings=settings, properties=secrets.jaas
    )
    with pytest.raises(JavaError):
        client.create_ledger().append(b"x")
    client.stop()
    assert "wrong user or password" in bookie.log


@pytest.mark.full
@both_dialects
def test_javas_client_wants_the_bookies_host_in_its_certificate(
    java_release: str, targets: JavaTargets, secrets: Secrets, zookeeper: Any, tmp_path: Path, protocol: str
) -> None:
    cluster = new_cluster(zookeeper)
    settings = secrets.bookie_tls(secrets.authority.issue("elsewhere", ("elsewhere",)))
    with LocalCluster(tmp_path, 1, metadata_uri=cluster.uri, settings=settings) as ours:
        client = targets.client(java_release, cluster=cluster, v2=protocol == "v2", settings=secrets.java_client_tls())
        with pytest.raises(JavaError):
            client.create_ledger().append(b"x")
        client.stop()
        assert poll(lambda: "no TLS with" in ours.bookies[0].log)

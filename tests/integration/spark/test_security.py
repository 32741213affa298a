"""Spark on a secured cluster: bookies that want certificate and password, over every format; secrets stay in files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.payloads import patterns
from tests.integration.support import blocking_client
from tests.integration.support.our_client import OurClient, append
from tests.integration.support.security import Secrets
from tests.sampling import only

pytestmark = pytest.mark.spark

PASSWORD = "a-login-nobody-sees"
PAYLOADS = patterns(3000, 100, seed=11)


@frozen
class Site:
    """Two bookies that want TLS with a certificate, and SASL; the options for them."""

    cluster: LocalCluster
    config: ClientConfig
    ledger: int
    options: dict[str, str]
    secrets: list[str]
    """The secrets that must not be seen anywhere."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    secrets = Secrets.make(tmp_path_factory.mktemp("secrets"), password=PASSWORD)
    identity = secrets.authority.issue("spark", encrypted=True)
    keys = {
        **secrets.java_client_tls(identity),
        **secrets.java_client_sasl,
        **secrets.jaas,
        "useV2WireProtocol": "true",
    }
    assert identity.password_path is not None
    hidden = [PASSWORD, identity.password_path.read_text(), identity.key_path.read_text().splitlines()[1]]
    settings = {**secrets.bookie_tls(), **secrets.bookie_sasl, **secrets.jaas}
    with LocalCluster(tmp_path_factory.mktemp("cluster"), 2, settings=settings) as cluster:
        config = ClientConfig(tls=secrets.client_tls(), auth=secrets.client_sasl)
        ledger = blocking_client.write(cluster.metadata_uri, config, PAYLOADS, 2, 2, 2)
        options = {f"bookkeeper.client.{key}": str(value) for key, value in keys.items()}
        yield Site(cluster, config, ledger, {**options, "metadataServiceUri": cluster.metadata_uri}, hidden)


@pytest.fixture
def load(spark: Any, site: Site) -> Callable[..., Any]:
    """``load(ledger=1, …)``: with the options of the site, except for those that are None."""

    def loaded(**options: Any) -> Any:
        given = {key.replace("__", "."): value for key, value in options.items()}
        kept = {key: str(value) for key, value in {**site.options, **given}.items() if value is not None}
        return spark.read.format("bookkeeper").options(**kept).load()

    return loaded


def payloads_of(frame: Any) -> list[bytes]:
    return frame.orderBy("ledger_id", "entry_id").toArrow()["payload"].to_pylist()


def error_of(run: Callable[[], Any]) -> str:
    with pytest.raises(Exception, match=r"(?s).") as caught:
        run()
    return str(caught.value)


@pytest.mark.parametrize("v2", only("false", ["true", "false"]))
def test_reads(load: Any, site: Site, v2: str) -> None:
    frame = load(ledger=site.ledger, minPartitions=3, bookkeeper__client__useV2WireProtocol=v2)
    assert payloads_of(frame) == PAYLOADS


@pytest.mark.full
def test_an_open_ledger_and_its_recovery(load: Any, site: Site) -> None:
    with OurClient(site.cluster.metadata_uri, tls=site.config.tls, auth=site.config.auth) as client:
        writer = client.create_ledger(2, 2, 2)
        append(writer, PAYLOADS[:50])
        append(writer, PAYLOADS[50:51])
        assert payloads_of(load(ledger=writer.ledger_id)) == PAYLOADS[:50]
        assert load(ledger=writer.ledger_id, allowRecovery="true").count() == 51


def test_writes(spark: Any, load: Any, site: Site) -> None:
    sizes = {"ensembleSize": "2", "writeQuorumSize": "2", "ackQuorumSize": "2"}
    rows = load(ledger=site.ledger).select("payload")
    rows.write.format("bookkeeper").mode("append").options(**site.options, **sizes, sinkId="copy").save()
    assert sorted(payloads_of(load(manifest="copy"))) == sorted(PAYLOADS)


@pytest.mark.full
def test_tables(load: Any, site: Site) -> None:
    rows = load(table="bookies").select("reachable", "error", "total_bytes").collect()
    assert [(row.reachable, row.error, row.total_bytes > 0) for row in rows] == [(True, None, True)] * 2
    rows = load(table="bookies", bookkeeper__client__saslJaasClientSectionName="Wrong").collect()
    assert all(row.reachable for row in rows)
    assert all("may be wrong" in row.error or "refused the credentials" in row.error for row in rows)
    replicas = load(table="replicas", ledger=site.ledger).collect()
    assert {row.verdict for row in replicas} == {"ok"}


@pytest.mark.full
def test_what_goes_wrong_is_said(load: Any, site: Site, tmp_path: Path) -> None:
    def error(**changed: str | None) -> str:
        keys = {f"bookkeeper__client__{key}": value for key, value in changed.items()}
        return error_of(lambda: load(ledger=site.ledger, numRetries=0, **keys).count())

    text = error(saslJaasClientSectionName="Wrong")
    assert "AuthenticationUnanswered" in text
    assert "they may be wrong" in text
    text = error(**{"java.security.auth.login.config": str(tmp_path / "nowhere")})
    assert f"{tmp_path / 'nowhere'}: cannot be read" in text
    assert "TlsFailed" in error(tlsClientAuthentication="false")
    assert f"{tmp_path} cannot be used" in error(clientTrustStore=str(tmp_path))
    assert "wants authentication, and none is configured" in error(clientAuthProviderFactoryClass=None)


def test_secrets_are_shown_nowhere(spark: Any, load: Any, site: Site, capsys: Any, tmp_path: Path) -> None:
    frame = load(ledger=site.ledger)
    assert frame.count() == len(PAYLOADS)
    (tmp_path / "jaas").write_text(PASSWORD)
    said = error_of(
        lambda: load(
            ledger=site.ledger, numRetries=0, bookkeeper__client__java__security__auth__login__config=tmp_path / "jaas"
        ).count()
    )
    frame.explain(True)
    execution = frame._jdf.queryExecution()
    shown = [said, capsys.readouterr().out, execution.toString(), execution.executedPlan().toJSON()]
    logs = Path(spark.sparkContext.getConf().get("spark.eventLog.dir").removeprefix("file:"))
    shown += [path.read_text(errors="replace") for path in logs.rglob("*") if path.is_file()]
    assert any('"Event"' in each for each in shown)
    for secret in site.secrets:
        assert not any(secret in each for each in shown)

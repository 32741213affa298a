"""Options as settings of connections."""

import pickle
from pathlib import Path

import pytest

from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.authentication import ConnectionPeer
from bookkeeper_tx.security.sasl import SaslLogin
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.spark.options.client_config import client_config
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options

TLS = {
    "tlsProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory",
    "tlsClientAuthentication": "true",
    "clientKeyStoreType": "PEM",
    "clientKeyStore": "/k.pem",
    "clientKeyStorePasswordPath": "/k.password",
    "tlsCertificatePath": "/c.pem",
    "clientTrustStoreType": "PEM",
    "clientTrustStore": "/t.pem",
    "tlsHostnameVerificationEnabled": "true",
    "tlsEnabledProtocols": "TLSv1.3",
}
SASL = {"clientAuthProviderFactoryClass": "org.apache.bookkeeper.sasl.SASLClientProviderFactory"}
JAAS = "java.security.auth.login.config"


def options(**values: str) -> Options:
    return Options.from_spark({"metadataServiceUri": "sqlite:///m", "ledger": "1", **values}, Use.READ)


def keys(**values: str) -> Options:
    """As Spark hands them over: in small letters."""
    return options(**{f"bookkeeper.client.{key.lower()}": value for key, value in values.items()})


def test_options_and_java_s_keys() -> None:
    found = client_config(options(readTimeoutMs="1500", batch="false"))
    assert (found.read_timeout_s, found.batch_read_enabled) == (1.5, False)
    given = {"bookkeeper.client.readentrytimeoutsec": "7", "bookkeeper.client.useV2WireProtocol": "false"}
    found = client_config(options(readTimeoutMs="1500", **given))
    assert (found.read_timeout_s, found.protocol) == (7, WireProtocol.V3)


def test_a_bookie_that_takes_no_connection_costs_no_more_than_one_that_does_not_answer() -> None:
    assert client_config(options(readTimeoutMs="1500")).connect_timeout_s == 1.5
    assert client_config(keys(readEntryTimeoutSec="2")).connect_timeout_s == 2
    assert client_config(options()).connect_timeout_s == 10
    assert client_config(options(readTimeoutMs="60000")).connect_timeout_s == 10, "a wrong password is said in time"
    given = {"readTimeoutMs": "1500", "bookkeeper.client.clientConnectTimeoutMillis": "4000"}
    assert client_config(options(**given)).connect_timeout_s == 4


def test_tls() -> None:
    assert client_config(keys(**TLS)).tls == TlsConfig(
        certificate_path="/c.pem",
        key_path="/k.pem",
        key_password_path="/k.password",  # the path is no secret
        trust_path="/t.pem",
        client_authentication=True,
        hostname_verification=True,
        protocols=("TLSv1.3",),
    )
    assert client_config(keys()).tls is None


def test_a_login_stays_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    found = client_config(keys(**SASL, **{JAAS: str(file), "saslJaasClientSectionName": "Mine"}))
    assert found.auth == SaslLogin(str(file), "Mine"), "which need not be there where a query is planned"
    file.write_text('Mine { m required username="a" password="hunter2"; };')
    for shown in (pickle.dumps(found), repr(found).encode()):
        assert b"hunter2" not in shown
    assert found.auth is not None
    again = pickle.loads(pickle.dumps(found.auth))
    answered: list[bytes] = []
    again.new_provider(ConnectionPeer("b:1"), lambda _: None).start(lambda _, token: answered.append(token))
    assert (answered, again.plugin_name) == ([b""], "sasl")
    file.write_text("hunter2")
    with pytest.raises(InvalidConfig, match="section 1 is not of the form") as caught:
        again.new_provider(ConnectionPeer("b:1"), lambda _: None)
    assert "hunter2" not in str(caught.value)


def test_a_wrong_key_or_value_is_named() -> None:
    with pytest.raises(InvalidConfig, match=r"bookkeeper\.client\.nothing does nothing here.*tlsProviderFactoryClass"):
        client_config(keys(nothing="x"))
    with pytest.raises(InvalidConfig, match=r"option bookkeeper\.client\.readEntryTimeoutSec = soon: not a whole"):
        client_config(keys(readentrytimeoutsec="soon"))
    with pytest.raises(InvalidConfig, match=r"option bookkeeper\.client\.readEntryTimeoutSec = 9999999: .*than a week"):
        client_config(keys(readentrytimeoutsec="9999999"))
    with pytest.raises(InvalidConfig, match=r"bookkeeper\.client\.…: the TLS keys do nothing without"):
        client_config(keys(clientTrustStore="/t.pem", clientTrustStoreType="PEM"))
    with pytest.raises(InvalidConfig, match=r"option bookkeeper\.client\.clientTrustStore = .*only PEM files"):
        client_config(keys(**{**TLS, "clientTrustStoreType": "JKS"}))
    with pytest.raises(InvalidConfig, match=r"needs the file with users and passwords: java\.security"):
        client_config(keys(**SASL))

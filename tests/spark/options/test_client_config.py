"""Options as settings of connections."""

import pickle
from pathlib import Path

import pytest

from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.authentication import ConnectionPeer
from bookkeeper_tx.security.login_if_there import LoginIfThere
from bookkeeper_tx.security.metadata_security import MetadataSecurity
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


ZOOKEEPER = {
    "zookeeper.client.secure": "true",
    "zookeeper.ssl.trustStore.location": "/t.pem",
    "zookeeper.ssl.keyStore.location": "/k.pem",
    "zookeeper.ssl.keyStore.passwordPath": "/k.password",
    "zkEnableSecurity": "true",
}
IN_ZOOKEEPER = {"metadataServiceUri": "zk://h/ledgers"}


def zookeeper(**values: str) -> Options:
    return options(**IN_ZOOKEEPER, **{f"bookkeeper.client.{key.lower()}": value for key, value in values.items()})


def test_a_secured_zookeeper(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    given = zookeeper(**ZOOKEEPER, **{JAAS: str(file), "zookeeper.sasl.clientconfig": "Mine"})
    found = client_config(given).metadata_security
    tls = TlsConfig(
        certificate_path="/k.pem",
        key_path="/k.pem",
        key_password_path="/k.password",
        trust_path="/t.pem",
        client_authentication=True,
        hostname_verification=True,
    )
    login = SaslLogin(str(file), "Mine")
    assert found == MetadataSecurity(tls=tls, login=login, creator_only=True), "no file need be there"
    file.write_text('Mine { m required username="a" password="hunter2"; };')
    for shown in (pickle.dumps((given, found)), repr((given, found)).encode()):
        assert b"hunter2" not in shown
    assert pickle.loads(pickle.dumps(found)) == found
    assert client_config(zookeeper()).metadata_security is None


def test_the_login_of_bookies_may_be_the_only_one_of_the_file() -> None:
    perhaps = MetadataSecurity(login=LoginIfThere("/jaas", "Client"))
    assert client_config(zookeeper(**SASL, **{JAAS: "/jaas"})).metadata_security == perhaps
    without = {JAAS: "/jaas", "zookeeper.sasl.client": "false"}
    assert client_config(zookeeper(**without)).metadata_security is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"zkEnableSecurity": "true"}, r"option bookkeeper\.client\.zkEnableSecurity = true: ZooKeeper must know who"),
        ({"zookeeper.sasl.client": "true"}, r"needs the file with users and passwords, java\.security"),
        (
            {"zookeeper.ssl.trustStore.location": "/t.pem"},
            r"option bookkeeper\.client\.zookeeper\.ssl\.trustStore\.location does nothing without zookeeper\.client",
        ),
        ({"zookeeper.client.secure": "true"}, r"zookeeper\.client\.secure = true: .*zookeeper\.ssl\.trustStore"),
        ({**ZOOKEEPER, "zookeeper.ssl.keyStore.password": "hunter2"}, "a password in the configuration is not read"),
        (
            {"zookeeper.client.secure": "false", "zookeeper.ssl.trustStore.password": "hunter2"},
            "a password in the configuration is not read; PEM files have none",
        ),
    ],
)
def test_what_does_not_go_together_for_zookeeper(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidConfig, match=said) as caught:
        client_config(zookeeper(**given))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("uri", ["sqlite:///m", "etcd://h/ledgers"])
def test_keys_of_zookeeper_are_for_metadata_in_zookeeper(uri: str) -> None:
    given = {f"bookkeeper.client.{key}": value for key, value in ZOOKEEPER.items()}
    with pytest.raises(InvalidConfig, match=r"client\.zkEnableSecurity does nothing here: .* names no ZooKeeper"):
        client_config(options(**given, metadataServiceUri=uri))
    named = {"metadataServiceUri": uri, f"bookkeeper.client.{JAAS}": "/jaas"}
    assert client_config(options(**named)).metadata_security is not None, "which these stores do not look at"

"""Java's keys for TLS and SASL, in a bookie's file and in a client's."""

from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.bookie.config_file import read_config_file
from bookkeeper_tx.client.config_file import read_client_config_file
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.sasl import SaslBookie, SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig

TLS = "tlsProviderFactoryClass=org.apache.bookkeeper.tls.TLSContextFactory\n"
BOOKIE_TLS = f"""{TLS}tlsProvider=OpenSSL
tlsCertificatePath=/c.pem
tlsKeyStoreType=PEM
tlsKeyStore=/k.pem
tlsKeyStorePasswordPath=/p
tlsTrustStoreType=pem
tlsTrustStore=/t.pem
tlsClientAuthentication=true
tlsCertFilesRefreshDurationSeconds=300
tlsEnabledProtocols=TLSv1.3,TLSv1.2
"""
CLIENT_TLS = f"""{TLS}clientTrustStoreType=PEM
clientTrustStore=/t.pem
tlsHostnameVerificationEnabled=true
"""
SASL_BOOKIE = "bookieAuthProviderFactoryClass=org.apache.bookkeeper.sasl.SASLBookieAuthProviderFactory\n"
SASL_CLIENT = "clientAuthProviderFactoryClass=org.apache.bookkeeper.sasl.SASLClientProviderFactory\n"


class Files:
    def __init__(self, directory: Path) -> None:
        self.path = directory / "keys.conf"
        self.warnings: list[str] = []
        jaas = directory / "jaas.conf"
        jaas.write_text('Bookie { m required user_a="b"; }; BookKeeper { m required username=a password=b; };')
        self.jaas = f"java.security.auth.login.config={jaas}\n"

    def bookie(self, text: str) -> dict[str, Any]:
        self.path.write_text(text)
        return read_config_file(str(self.path), self.warnings.append)

    def client(self, text: str) -> ClientConfig:
        self.path.write_text(text)
        return read_client_config_file(str(self.path), self.warnings.append)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_tls_of_a_bookie(files: Files) -> None:
    assert files.bookie(BOOKIE_TLS)["tls"] == TlsConfig(
        certificate_path="/c.pem",
        key_path="/k.pem",
        key_password_path="/p",
        trust_path="/t.pem",
        client_authentication=True,
        refresh_interval_s=300,
        protocols=("TLSv1.3", "TLSv1.2"),
    )
    assert files.warnings == []


def test_tls_of_a_client(files: Files) -> None:
    assert files.client(CLIENT_TLS).tls == TlsConfig(trust_path="/t.pem", hostname_verification=True)
    assert files.warnings == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TLS, "tlsCertificatePath and tlsKeyStore"),
        (BOOKIE_TLS.replace("tlsKeyStoreType=PEM", "tlsKeyStoreType=JKS"), "set tlsKeyStoreType = PEM"),
        (BOOKIE_TLS.replace("tlsTrustStoreType=pem\n", ""), "set tlsTrustStoreType = PEM"),
        (BOOKIE_TLS.replace("TLSv1.3,", "SSLv3,"), "SSLv3"),
        (BOOKIE_TLS.replace("tlsTrustStore=/t.pem", ""), "tlsTrustStore"),
        (BOOKIE_TLS + "tlsEnabledCipherSuites=TLS_X\n", "cipher suites cannot be chosen"),
        (TLS.replace("TLSContextFactory", "Own"), "only TLSContextFactory"),
        (SASL_BOOKIE, r"java\.security\.auth\.login\.config"),
        (SASL_BOOKIE.replace("SASLBookieAuth", "Own"), "only SASLBookieAuthProviderFactory"),
    ],
)
def test_what_cannot_be_had_is_refused(files: Files, text: str, said: str) -> None:
    with pytest.raises(InvalidConfig, match=said):
        files.bookie(text)


def test_a_wrong_value_is_said_of_its_own_line_only(files: Files) -> None:
    with pytest.raises(InvalidConfig) as caught:
        files.bookie(BOOKIE_TLS + "tlsHostnameVerificationEnabled=maybe\n")
    assert "tlsHostnameVerificationEnabled = maybe" in str(caught.value)
    assert "tlsProviderFactoryClass" not in str(caught.value)


def test_keys_of_tls_that_is_off(files: Files) -> None:
    assert "tls" not in files.bookie(BOOKIE_TLS.replace(TLS, ""))
    assert any("do nothing without tlsProviderFactoryClass" in warning for warning in files.warnings)


def test_sasl_of_a_bookie(files: Files) -> None:
    plugin = files.bookie(SASL_BOOKIE + files.jaas)["auth"]
    assert isinstance(plugin, SaslBookie)
    assert (plugin.users, plugin.allowed_ids.pattern) == ({"a": "b"}, ".*bookkeeper.*")
    assert "b'" not in repr(plugin), "no password"
    plugin = files.bookie(SASL_BOOKIE + files.jaas + "saslJaasClientAllowedIds=a|c\n")["auth"]
    assert plugin.allowed_ids.pattern == "a|c"
    with pytest.raises(InvalidConfig, match="no regular expression"):
        files.bookie(SASL_BOOKIE + files.jaas + "saslJaasClientAllowedIds=(\n")
    with pytest.raises(InvalidConfig, match="no section Other"):
        files.bookie(SASL_BOOKIE + files.jaas + "saslJaasBookieSectionName=Other\n")


def test_sasl_of_a_client(files: Files) -> None:
    plugin = files.client(SASL_CLIENT + files.jaas).auth
    assert isinstance(plugin, SaslClient)
    assert (plugin.username, plugin.password) == ("a", "b")
    assert "password" not in repr(plugin)


def test_a_bookie_comes_to_others_as_a_client_with_the_keys_of_one(files: Files) -> None:
    own = "clientKeyStoreType=PEM\nclientKeyStore=/c.key\nclientTrustStoreType=PEM\nclientTrustStore=/a.pem\n"
    values = files.bookie(BOOKIE_TLS + own + SASL_CLIENT + files.jaas)
    assert values["client_tls"] == TlsConfig(
        certificate_path="/c.pem",
        key_path="/c.key",
        trust_path="/a.pem",
        client_authentication=True,
        refresh_interval_s=300,
        protocols=("TLSv1.3", "TLSv1.2"),
    )
    assert (values["client_auth"].username, values["client_auth"].password) == ("a", "b")
    assert values["tls"].key_path == "/k.pem"
    assert files.warnings == []


def test_a_bookie_shows_others_no_certificate_without_a_key_for_that(files: Files) -> None:
    client_tls = files.bookie(BOOKIE_TLS + "clientTrustStoreType=PEM\nclientTrustStore=/a.pem\n")["client_tls"]
    assert (client_tls.certificate_path, client_tls.trust_path) == (None, "/a.pem")
    assert not client_tls.client_authentication


def test_a_bookie_asks_others_for_no_tls_without_keys_for_that(files: Files) -> None:
    assert not {"client_tls", "client_auth"} & set(files.bookie(BOOKIE_TLS + SASL_BOOKIE + files.jaas))


def test_what_a_bookie_as_a_client_cannot_have_is_refused(files: Files) -> None:
    with pytest.raises(InvalidConfig, match="only SASLClientProviderFactory"):
        files.bookie(SASL_CLIENT.replace("SASLClient", "Own") + files.jaas)
    with pytest.raises(InvalidConfig, match="set clientTrustStoreType = PEM"):
        files.bookie(BOOKIE_TLS + "clientTrustStore=/a.pem\n")

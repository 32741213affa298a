"""Java's keys for TLS, passwords and access lists of ZooKeeper."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.login_if_there import LoginIfThere
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.sasl import SaslClient, SaslLogin
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.security.zookeeper_keys import metadata_security, metadata_security_by_path
from bookkeeper_tx.text.properties_file import read_properties

LOGIN = 'Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="bk" password="secret"; };'
TLS = "zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location=/ca.pem"
JAAS = "java.security.auth.login.config"


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    (tmp_path / "jaas.conf").write_text(LOGIN)
    (tmp_path / "bookies.conf").write_text(LOGIN.replace("Client", "Bookie"))

    def read(text: str) -> dict[str, Any]:
        path = tmp_path / "bk_server.conf"
        path.write_text(text.replace("@", str(tmp_path)))
        return metadata_security(read_properties(str(path)))

    return read


def test_without_keys_nothing_is_set(read: Any) -> None:
    in_clear = TLS.replace("true", "false")
    for text in ("", "zkEnableSecurity=false", "zookeeper.client.secure=false", in_clear, f"{JAAS}=@/bookies.conf"):
        assert read(text) == {}


def test_tls(read: Any) -> None:
    trusting = TlsConfig(trust_path="/ca.pem", hostname_verification=True)
    assert read(TLS) == {"metadata_security": MetadataSecurity(tls=trusting)}
    text = (
        f"{TLS}\nzookeeper.ssl.keyStore.location=/own\nzookeeper.ssl.keyStore.type=PEM\n"
        "zookeeper.ssl.keyStore.passwordPath=/password\nzookeeper.ssl.hostnameVerification=false\n"
        "zookeeper.ssl.enabledProtocols=TLSv1.2, TLSv1.3\n"
        "zookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty\nzkEnableSecurity=true"
    )
    shown = TlsConfig(
        certificate_path="/own",
        key_path="/own",
        key_password_path="/password",
        trust_path="/ca.pem",
        client_authentication=True,
        protocols=("TLSv1.2", "TLSv1.3"),
    )
    assert read(text) == {"metadata_security": MetadataSecurity(tls=shown, creator_only=True)}


def test_a_login(read: Any, tmp_path: Path) -> None:
    login = SaslLogin(str(tmp_path / "jaas.conf"), "Client")
    assert read(f"{JAAS}=@/jaas.conf") == {"metadata_security": MetadataSecurity(login=login)}
    assert read(f"{JAAS}=@/jaas.conf\nzkEnableSecurity=true") == {
        "metadata_security": MetadataSecurity(login=login, creator_only=True)
    }
    assert read(f"{JAAS}=@/jaas.conf\nzookeeper.sasl.client=false") == {}
    named = SaslLogin(str(tmp_path / "bookies.conf"), "Bookie")
    assert read(f"{JAAS}=@/bookies.conf\nzookeeper.sasl.clientconfig=Bookie") == {
        "metadata_security": MetadataSecurity(login=named)
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("zkEnableSecurity=true", "line 1: zkEnableSecurity = true: ZooKeeper must know"),
        (f"{TLS}\nzkEnableSecurity=true", "line 3: zkEnableSecurity = true: ZooKeeper must know"),
        ("zookeeper.client.secure=true", "line 1: .* trusted authorities.* zookeeper.ssl.trustStore.location"),
        (
            "zookeeper.client.secure=true\nzookeeper.ssl.trustStore.location=/ca.jks",
            "line 2: .*only PEM files are read",
        ),
        (f"{TLS}\nzookeeper.ssl.trustStore.type=JKS", "only PEM files are read"),
        (f"{TLS}\nzookeeper.ssl.keyStore.password=hush", "line 3: .*name a file with it"),
        (
            "zookeeper.ssl.trustStore.location=/ca.pem\nzookeeper.ssl.keyStore.password=hush",
            "line 1: zookeeper.ssl.trustStore.location does nothing without zookeeper.client.secure",
        ),
        ("zookeeper.sasl.clientconfig=Bookie", "line 1: .*needs the file with users and passwords"),
        ("zookeeper.sasl.client=true", "line 1: .*needs the file with users and passwords"),
        (f"{JAAS}=@/bookies.conf\nzookeeper.sasl.client=true", "there is no section Client"),
        (f"{JAAS}=/nowhere", "/nowhere"),
    ],
)
def test_what_cannot_work_is_refused(read: Any, text: str, said: str) -> None:
    with pytest.raises(InvalidConfig, match=said) as caught:
        read(text)
    assert "hush" not in str(caught.value)


def test_nodes_for_nobody_known_are_refused() -> None:
    with pytest.raises(InvalidConfig, match="must know who makes the nodes"):
        MetadataSecurity(creator_only=True)
    assert "secret" not in repr(MetadataSecurity(login=SaslClient("bk", "secret"), creator_only=True))


def test_by_path_no_file_is_read(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere.conf")

    def by_path(text: str) -> dict[str, Any]:
        path = tmp_path / "client.conf"
        path.write_text(text)
        return metadata_security_by_path(read_properties(str(path)))

    assert by_path("") == {}
    assert by_path(TLS)["metadata_security"].tls.trust_path == "/ca.pem"
    perhaps = MetadataSecurity(login=LoginIfThere(nowhere, "Client"), creator_only=True)
    assert by_path(f"{JAAS}={nowhere}\nzkEnableSecurity=true") == {"metadata_security": perhaps}
    assert by_path(f"{JAAS}={nowhere}\nzookeeper.sasl.client=true") == {
        "metadata_security": MetadataSecurity(login=SaslLogin(nowhere, "Client"))
    }
    assert by_path(f"{JAAS}={nowhere}\nzookeeper.sasl.client=false") == {}
    with pytest.raises(InvalidConfig, match="zkEnableSecurity = true: ZooKeeper must know"):
        by_path("zkEnableSecurity=true")

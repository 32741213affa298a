"""A target at an address offers the sites that its user names."""

from pathlib import Path

import pytest

from compat_tests.targets.sites import SHARED_KINDS, NotOffered, TlsFiles
from compat_tests.targets.target import BadTarget, TargetOptions, parse

EVERYTHING = TargetOptions(
    metadata="zk+hierarchical://zk1:2181;zk2/one/ledgers",
    implementation="other",
    release="1.2",
    read_only_address="b:2",
    tls_address="b:3",
    tls_ca=Path("ca.pem"),
    tls_certificate=Path("me.pem"),
    tls_key=Path("me.key"),
    auth_address="b:4",
    auth_user="me",
    auth_password="pass",
    tls_auth_address="b:5",
)


def test_what_is_not_given_names_its_option() -> None:
    target = parse("b:1")
    assert target.site("plain").port == 1
    for kind in SHARED_KINDS[1:]:
        with pytest.raises(NotOffered, match=f"give --{kind.replace('+', '-')}-address "):
            target.site(kind)
    with pytest.raises(NotOffered, match="there is no site 'another'"):
        target.site("another")
    with pytest.raises(NotOffered, match="give --control"), target.own():
        pass


def test_all_sites() -> None:
    target = parse("b:1", EVERYTHING)
    assert [target.site(kind).port for kind in SHARED_KINDS] == [1, 2, 3, 4, 5]
    files = TlsFiles(Path("ca.pem"), Path("me.pem"), Path("me.key"))
    assert [target.site(kind).tls for kind in SHARED_KINDS] == [None, None, files, None, files]
    login = ("me", "pass")
    assert [target.site(kind).credentials for kind in SHARED_KINDS] == [None, None, None, login, login]
    assert target.cluster is not None
    assert (target.cluster.zookeeper, target.cluster.root) == ("zk1:2181,zk2:2181", "/one/ledgers")
    assert (target.name, target.how) == ("other 1.2 at b:1", "running already")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (TargetOptions(tls_address="b:3"), "give --tls-ca"),
        (TargetOptions(tls_auth_address="b:3", auth_user="a", auth_password="b"), "give --tls-ca"),
        (TargetOptions(tls_certificate=Path("me.pem")), "--tls-certificate and --tls-key"),
        (TargetOptions(auth_address="b:3"), "--auth-user and --auth-password"),
        (TargetOptions(read_only_address="b"), "host:port"),
        (TargetOptions(metadata="etcd://host"), "zk\\+hierarchical://"),
        (TargetOptions(metadata="zk+hierarchical://host"), "zk\\+hierarchical://"),
    ],
)
def test_half_of_what_is_needed_is_refused(options: TargetOptions, message: str) -> None:
    with pytest.raises(BadTarget, match=message):
        parse("b:1", options)

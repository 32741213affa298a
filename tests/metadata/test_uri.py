import pytest

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.metadata.uri import EtcdUri, SqliteUri, ZooKeeperUri, parse_metadata_uri


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("sqlite:///var/lib/meta.db", SqliteUri("/var/lib/meta.db")),
        ("sqlite:///a%20b/c", SqliteUri("/a b/c")),
        ("sqlite:///a@b/c%3F%23", SqliteUri("/a@b/c?#")),
        ("zk://h/ledgers", ZooKeeperUri(("h:2181",), "/ledgers", None)),
        ("zk+null://h:1/ledgers/", ZooKeeperUri(("h:1",), "/ledgers", None)),
        ("zk+hierarchical://h1:2181;h2:2182/a/b", ZooKeeperUri(("h1:2181", "h2:2182"), "/a/b", "hierarchical")),
        ("zk+longhierarchical://h/l", ZooKeeperUri(("h:2181",), "/l", "longhierarchical")),
        ("zk+flat://h/l", ZooKeeperUri(("h:2181",), "/l", "flat")),
        ("zk://h1:1,h2:2;h3/l", ZooKeeperUri(("h1:1", "h2:2", "h3:2181"), "/l", None)),
        ("etcd://h/ledgers", EtcdUri(("h:2379",), "/ledgers")),
        ("etcd://h1:1;h2/a/b/", EtcdUri(("h1:1", "h2:2379"), "/a/b")),
        ("zk://[::1]:2181;[::1]/l", ZooKeeperUri(("[::1]:2181", "[::1]:2181"), "/l", None)),
    ],
)
def test_good(uri: str, expected: object) -> None:
    assert parse_metadata_uri(uri) == expected


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("", "no scheme"),
        ("/var/lib", "no scheme"),
        ("http://h/l", "no metadata store 'http'"),
        ("sqlite+x:///a", "no metadata store 'sqlite"),
        ("etcd+x://h/l", "no metadata store 'etcd+x'"),
        ("etcd://h:2379", "path of the cluster's root"),
        ("etcd:///ledgers", "no host:port"),
        ("sqlite://", "absolute path"),
        ("sqlite://relative/path", "absolute path"),
        ("sqlite:///directory/", "absolute path"),
        ("zk+legacyhierarchical://h/l", "'legacyhierarchical' is not built"),
        ("zk+ms://h/l", "'ms' is not built; use zk+hierarchical://, zk+longhierarchical://, zk+flat:// or zk://"),
        ("zk+strange://h/l", "'strange' is not known"),
        ("zk://h:2181", "path of the cluster's root"),
        ("zk://h:2181/", "path of the cluster's root"),
        ("zk://h:2181/a//b", "path of the cluster's root"),
        ("zk:///ledgers", "no host:port"),
        ("zk://h:x/ledgers", "no host:port"),
        ("zk://h:0/ledgers", "no host:port"),
        ("zk://h:70000/ledgers", "no host:port"),
        ("zk://h1:1;;h2:1/ledgers", "no host:port"),
    ],
)
def test_bad(uri: str, reason: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        parse_metadata_uri(uri)
    assert reason in str(caught.value)
    assert repr(uri) in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("etcd://user:secret@h:2379/ledgers", "a user or a password"),
        ("zk://user:secret@h:2181/ledgers", "a user or a password"),
        ("etcd://user:sec/ret@h:2379/ledgers", "a user or a password"),
        ("zk+strange://user:secret@h/ledgers", "a user or a password"),
        ("http://user:secret@h/ledgers", "a user or a password"),
        ("etcd://h:2379/ledgers?password=secret", "options in it"),
        ("zk://h:2181/ledgers#secret", "options in it"),
        ("sqlite:///var/meta.db?key=secret", "options in it"),
        ("sqlite://user:secret@h/meta.db", "absolute path"),
        ("user:secret@h/ledgers", "no scheme"),
    ],
)
def test_what_may_be_a_secret_is_refused_and_not_shown(uri: str, reason: str) -> None:
    with pytest.raises(InvalidConfig, match=reason) as caught:
        parse_metadata_uri(uri)
    assert "ret" not in str(caught.value)
    assert "user:" not in str(caught.value)

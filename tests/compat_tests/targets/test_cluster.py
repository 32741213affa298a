"""Metadata service URIs."""

import pytest

from compat_tests.targets.cluster import Cluster, parse_uri


@pytest.mark.parametrize(
    ("uri", "cluster"),
    [
        ("zk+hierarchical://127.0.0.1:2181/ledgers", Cluster("127.0.0.1:2181")),
        ("zk://a:1,b:2/ledgers/", Cluster("a:1,b:2")),
        ("zk+longhierarchical://a;b:2/some/where", Cluster("a:2181,b:2", "/some/where")),
    ],
)
def test_a_uri_is_read(uri: str, cluster: Cluster) -> None:
    assert parse_uri(uri) == cluster


def test_a_clusters_own_uri_is_read() -> None:
    cluster = Cluster("a:1,b:2", "/x/ledgers")
    assert parse_uri(cluster.uri) == cluster


@pytest.mark.parametrize("uri", ["", "zk://host", "zk://host/", "etcd://host/x", "host:2181/ledgers", "zk://a/b c"])
def test_other_text_is_refused_with_the_form(uri: str) -> None:
    with pytest.raises(ValueError, match=r"zk\+hierarchical://host:port;host:port/ledgers"):
        parse_uri(uri)

"""A cluster in a ZooKeeper with TLS, passwords and access lists, with Java on both sides."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.security import make_acl

from bookkeeper_tx import blocking
from bookkeeper_tx.client.config_file import read_client_config_file
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.java.targets import JavaTargets
from tests.cli.bktx_process import bktx
from tests.integration.support.both_sides import are_collected, both_use_it, listed
from tests.integration.support.java_shell import JavaShell
from tests.integration.support.our_client import poll
from tests.integration.support.secured_zookeeper import USER, SecuredCluster, SecuredZooKeeper, secured_zookeeper

pytestmark = [pytest.mark.java, pytest.mark.releases(since="4.18")]

SETTINGS = {"zkEnableSecurity": "true", "gcWaitTime": 500, "flushInterval": 200}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredZooKeeper]:
    with secured_zookeeper(tmp_path_factory.mktemp("secured")) as found:
        yield found


@pytest.fixture
def cluster(secured: SecuredZooKeeper) -> SecuredCluster:
    return secured.cluster(f"/secured-{uuid.uuid4()}")


@pytest.fixture
def client_file(secured: SecuredZooKeeper, tmp_path: Path) -> Path:
    """Our client's configuration, by Java's keys."""
    path = tmp_path / "client.conf"
    keys = {**secured.keys(), "zkEnableSecurity": "true"}
    path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    return path


def ours(cluster: SecuredCluster, client_file: Path) -> blocking.BookKeeper:
    def refuse(text: str) -> None:
        raise AssertionError(text)

    return blocking.BookKeeper(cluster.uri, read_client_config_file(str(client_file), refuse))


def shell(cluster: SecuredCluster, release: str, tmp_path: Path) -> JavaShell:
    configuration = {"metadataServiceUri": cluster.uri, "zkEnableSecurity": "true"}
    return JavaShell(release, tmp_path / "shell", configuration, properties=cluster.secured.properties())


def assert_for_the_user_alone(cluster: SecuredCluster) -> None:
    found = cluster.secured.acls(cluster.root)
    assert len(found) > 8
    own = [make_acl("sasl", USER, all=True)]
    assert {path: acl for path, acl in found.items() if acl != own} == {}


@pytest.mark.full
def test_java_works_on_a_secured_cluster_of_ours(
    java_release: str, cluster: SecuredCluster, client_file: Path, tmp_path: Path
) -> None:
    made = bktx("--client-config", str(client_file), "cluster", "init", "--metadata", cluster.uri)
    assert made.returncode == 0, made.stderr
    settings = {**SETTINGS, **cluster.secured.keys()}
    with (
        LocalCluster(tmp_path / "ours", 1, metadata_uri=cluster.uri, settings=settings) as bookies,
        JavaTargets(cluster, tmp_path / "java") as targets,
        ours(cluster, client_file) as client,
    ):
        java = targets.client(
            java_release, settings={"zkEnableSecurity": "true"}, properties=cluster.secured.properties()
        )
        left, gone = both_use_it(client, java)
        assert poll(lambda: are_collected(java, bookies.bookie_ids[0], gone), timeout_s=60, interval_s=0.5)
        assert listed(shell(cluster, java_release, tmp_path)) == left
        assert_for_the_user_alone(cluster)


@pytest.mark.full
def test_we_work_on_a_secured_cluster_of_java(
    java_release: str, cluster: SecuredCluster, client_file: Path, tmp_path: Path
) -> None:
    shell(cluster, java_release, tmp_path).run("initnewcluster")
    with JavaTargets(cluster, tmp_path / "java") as targets, ours(cluster, client_file) as client:
        bookie = targets.bookie(
            java_release, storage="interleaved", settings=SETTINGS, properties=cluster.secured.properties()
        )
        java = targets.client(
            java_release, settings={"zkEnableSecurity": "true"}, properties=cluster.secured.properties()
        )
        _, gone = both_use_it(client, java)
        assert poll(lambda: are_collected(java, bookie.bookie_id, gone), timeout_s=60, interval_s=0.5)
        assert_for_the_user_alone(cluster)


@pytest.mark.full
def test_a_bookie_with_a_wrong_password_says_so_and_ends(cluster: SecuredCluster, tmp_path: Path) -> None:
    settings = {**SETTINGS, **cluster.secured.keys("wrong")}
    bookies = LocalCluster(tmp_path / "ours", 1, metadata_uri=cluster.uri, settings=settings)
    with pytest.raises(Exception, match="does not accept the user"):
        bookies.start()

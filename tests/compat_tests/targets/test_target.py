"""The words that name a target."""

import pytest

from compat_tests.targets.address import AddressTarget
from compat_tests.targets.docker.target import DockerTarget
from compat_tests.targets.jars_target import JarsTarget
from compat_tests.targets.ours import OurTarget
from compat_tests.targets.target import BadTarget, TargetOptions, parse
from compat_tests.targets.unavailable import Unavailable
from compat_tests.targets.zookeeper import ZooKeeper


@pytest.mark.parametrize(
    ("text", "kind", "name", "implementation", "release"),
    [
        ("java:4.18.0", JarsTarget, "Java 4.18.0", "java", "4.18.0"),
        ("java:4.16.6/db", JarsTarget, "Java 4.16.6 (DbLedgerStorage)", "java", "4.16.6"),
        ("docker:4.17.3", DockerTarget, "Java 4.17.3 in Docker", "java", "4.17.3"),
        ("bookie.example:3181", AddressTarget, "bookie at bookie.example:3181", "unknown", ""),
        ("[::1]:3181", AddressTarget, "bookie at ::1:3181", "unknown", ""),
    ],
)
def test_names(text: str, kind: type, name: str, implementation: str, release: str) -> None:
    target = parse(text)
    assert isinstance(target, kind)
    assert (target.name, target.implementation, target.release) == (name, implementation, release)


def test_ours_is_named_with_its_version() -> None:
    target = parse("ours")
    assert isinstance(target, OurTarget)
    assert target.name == f"bookkeeper_tx {target.release}".strip()
    assert target.how == "twistd bookie as a process, metadata in SQLite"
    assert target.cluster is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write ours, java:RELEASE"),
        ("theirs", "write ours, java:RELEASE"),
        ("host:0", "write ours, java:RELEASE"),
        ("host:65536", "write ours, java:RELEASE"),
        ("host:http", "write ours, java:RELEASE"),
        ("java:4.18", "the releases are 4.9.2"),
        ("docker:latest", "the releases are 4.9.2"),
        ("java:4.18.0/rocks", "sorted, interleaved, db"),
    ],
)
def test_what_names_none_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(BadTarget, match=message):
        parse(text)


def test_ours_goes_on_without_a_zookeeper(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(zookeeper: ZooKeeper, timeout_s: float = 60) -> ZooKeeper:
        raise Unavailable("no JVM")

    monkeypatch.setattr(ZooKeeper, "start", missing)
    monkeypatch.delenv("CI", raising=False)
    with parse("ours", TargetOptions(with_metadata=True)) as target:
        assert target.how.endswith("metadata in ZooKeeper")
        assert target.cluster is None
        assert target.how.endswith("metadata in SQLite (no JVM)")
    monkeypatch.setenv("CI", "true")
    with parse("ours", TargetOptions(with_metadata=True)) as target, pytest.raises(Unavailable):
        assert target.cluster

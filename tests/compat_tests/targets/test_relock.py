"""Reading Maven's list of dependencies."""

from xml.etree import ElementTree

from compat_tests.targets.lockfile import PULSAR, WITH_ETCD, etcd_lock
from compat_tests.targets.relock import bookie_project, broker_project, etcd_jars, parse_listing

_LISTING = """
The following files have been resolved:
   org.example:thing:jar:1.0:compile -- module thing (auto)
   io.netty:native:jar:linux-x86_64:4.1.Final:compile -- module x
   io.netty:native:jar:linux-aarch_64:4.1.Final:compile -- module x
   io.netty:native:jar:osx-x86_64:4.1.Final:runtime
   io.netty:native:jar:windows-x86_64:4.1.Final:compile
"""


def test_jars_of_this_platform_are_kept():
    assert [jar.coordinate for jar in parse_listing(_LISTING)] == [
        "org.example:thing:1.0",
        "io.netty:native:4.1.Final:linux-x86_64",
    ]


def test_the_project_asks_for_the_release_and_replaces_the_oldest_zookeeper():
    for release in ("4.9.2", "4.18.0"):
        text = bookie_project(release)
        ElementTree.fromstring(text)
        assert f"<artifactId>bookkeeper-server</artifactId><version>{release}</version>" in text
        assert ("<artifactId>zookeeper</artifactId>" in text) == (release == "4.9.2")


def test_the_broker_of_pulsar_is_asked_for_with_what_pulsar_manages():
    text = broker_project()
    ElementTree.fromstring(text)
    assert f"<artifactId>pulsar-broker</artifactId><version>{PULSAR}</version>" in text
    assert f"<artifactId>pulsar</artifactId><version>{PULSAR}</version><type>pom</type><scope>import</scope>" in text


def test_what_is_locked_of_the_driver_for_etcd_is_what_is_asked_for():
    assert sorted(jar.coordinate for jar in etcd_jars(WITH_ETCD)) == sorted(
        jar.coordinate for jar in etcd_lock(WITH_ETCD)
    )

"""Lock files: the form of a line, and the checked-in files."""

import pytest

from compat_tests.targets.lockfile import (
    PULSAR,
    RELEASES,
    WITH_ETCD,
    BadLock,
    Jar,
    bookkeeper_lock,
    etcd_lock,
    http_lock,
    parse,
    pulsar_lock,
    read,
    release_number,
    render,
)

_HASH = "0123456789abcdef" * 4


def test_a_line_is_a_coordinate_and_a_hash():
    text = f"# heading\n\norg.example:thing:1.0 {_HASH}\nio.netty:native:4.1.Final:linux-x86_64 {_HASH}\n"
    assert parse(text) == [
        Jar("org.example", "thing", "1.0", "", _HASH),
        Jar("io.netty", "native", "4.1.Final", "linux-x86_64", _HASH),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "org.example:thing:1.0",
        f"org.example:thing {_HASH}",
        f"org.example:thing:1.0 {_HASH[:-1]}",
        f"org.example:thing:1.0 {_HASH.upper()}",
        f"org.example:thing:1.0:a:b {_HASH}",
        f"../thing:x/y:1.0 {_HASH}",
    ],
)
def test_any_other_line_is_refused_with_its_place(line):
    with pytest.raises(BadLock, match=r"some\.lock, line 2"):
        parse(f"# heading\n{line}\n", "some.lock")


def test_a_jar_locked_twice_is_refused():
    with pytest.raises(BadLock, match=r"org\.example:thing:1\.0 is locked twice"):
        parse(f"org.example:thing:1.0 {_HASH}\norg.example:thing:1.0 {'f' * 64}\n")


def test_what_is_rendered_is_sorted_and_read_back():
    jars = [Jar("b", "a", "1", "linux-x86_64", _HASH), Jar("a", "z", "1", "", _HASH)]
    text = render(jars, "two jars")
    assert text.startswith("# two jars\na:z:1 ")
    assert parse(text) == sorted(jars)


@pytest.mark.parametrize("release", RELEASES)
def test_each_release_is_locked_with_server_and_zookeeper(release):
    jars = bookkeeper_lock(release)
    assert jars == sorted(jars)
    assert [jar.version for jar in jars if jar.artifact == "bookkeeper-server"] == [release]
    assert any(jar.coordinate.startswith("org.apache.zookeeper:zookeeper:3.") for jar in jars)
    assert {jar.classifier for jar in jars} <= {"", "linux-x86_64"}


def test_the_broker_of_pulsar_is_locked_with_its_client_of_bookkeeper():
    jars = pulsar_lock()
    assert jars == sorted(jars)
    assert [jar.version for jar in jars if jar.artifact == "pulsar-broker"] == [PULSAR]
    assert [jar.version for jar in jars if jar.artifact == "bookkeeper-server"] == ["4.17.2"]


def test_the_offloader_is_locked():
    assert [jar.artifact for jar in read("pulsar-offloader.lock")] == ["tiered-storage-file-system"]


def test_the_driver_for_etcd_is_locked_with_the_client_of_etcd_that_pulsar_has():
    jars = etcd_lock(WITH_ETCD)
    assert jars == sorted(jars)
    assert [jar.version for jar in jars if jar.artifact == "metadata-stores-etcd"] == [WITH_ETCD]
    assert [jar for jar in jars if jar.artifact != "metadata-stores-etcd" and jar not in pulsar_lock()] == []
    assert not {jar.artifact for jar in jars} & {jar.artifact for jar in bookkeeper_lock(WITH_ETCD)}


def test_the_compiler_is_locked():
    assert [jar.artifact for jar in read("ecj.lock")] == ["ecj"]


def test_a_lock_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(BadLock, match=r"there is no bookkeeper-4\.1\.0\.lock; there are: bookkeeper-4\.14\.7\.lock"):
        bookkeeper_lock("4.1.0")


def test_releases_compare_as_numbers():
    assert list(RELEASES) == sorted(RELEASES, key=release_number)
    assert release_number("4.9.2") < release_number("4.14.7")


def test_the_http_server_of_the_newest_release_is_locked_beside_its_bookie():
    beside = http_lock(RELEASES[-1])
    assert beside == sorted(beside)
    assert {"vertx-http-server", "prometheus-metrics-provider"} <= {jar.artifact for jar in beside}
    bookie = {jar.artifact: jar.version for jar in bookkeeper_lock(RELEASES[-1])}
    assert not {jar.artifact for jar in beside} & bookie.keys()

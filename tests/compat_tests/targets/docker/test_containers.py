"""Who finds what for a Java program in a container, and when."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from compat_tests.targets.docker import attached, containers
from compat_tests.targets.docker.containers import Containers
from compat_tests.targets.docker.daemon import Daemon
from compat_tests.targets.docker.image import Image
from compat_tests.targets.java_program import JavaProgram, Product
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.unavailable import Unavailable

PRODUCT = Product("bookkeeper", "4.18.0", tuple)
OFFICIAL = Image("official", "the official image official", ("sh", "java"), "/lib/*")


@pytest.fixture
def lifetime() -> Iterator[Lifetime]:
    with Lifetime() as made:
        yield made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was looked for, in order."""
    found: list[str] = []

    def find_daemon(lifetime: Lifetime) -> Daemon:
        found.append("daemon")
        return Daemon("unix:///sock", "a daemon", SimpleNamespace())

    def find_image(daemon: Daemon, product: Product) -> Image:
        found.append(product.tag)
        return OFFICIAL

    monkeypatch.setattr(containers, "find_daemon", find_daemon)
    monkeypatch.setattr(containers, "find_image", find_image)
    return found


def program(folder: Path) -> JavaProgram:
    return JavaProgram(
        product=PRODUCT,
        main="Main",
        arguments=["argument"],
        work_dir=folder / "work",
        log=folder / "work/log",
        heap_mb=64,
        flags=["-Dx=y"],
        base_flags=["-b"],
        classes=[folder, folder / "some.jar"],
    )


def test_daemon_and_image_are_looked_for_once_and_late(lifetime: Lifetime, asked: list[str], tmp_path: Path) -> None:
    made = Containers(lifetime)
    assert (asked, made.used()) == ([], [])
    for _ in range(2):
        made.command(program(tmp_path))
    assert asked == ["daemon", "4.18.0"]
    assert made.how(PRODUCT) == "in Docker (a daemon): the official image official"
    assert made.used() == ["in Docker, by a daemon:", "4.18.0: the official image official"]


@pytest.mark.usefixtures("asked")
def test_a_program_has_its_words_and_folders(lifetime: Lifetime, tmp_path: Path) -> None:
    *_, recipe_text = Containers(lifetime, [tmp_path / "shared"]).command(program(tmp_path))
    recipe = attached.parse(recipe_text)
    assert recipe.command == [
        *("-Xmx64m", "-b", "-Dx=y"),
        *("-cp", f"/lib/*:{tmp_path}:{tmp_path / 'some.jar'}", "Main", "argument"),
    ]
    assert (recipe.work_dir, recipe.log) == (str(tmp_path / "work"), str(tmp_path / "work/log"))
    assert recipe.folders == (str(lifetime.root), str(tmp_path / "shared"))
    assert recipe.image.mounts == ((str(tmp_path), str(tmp_path)),), "its classes; the image has the jars"


def test_a_program_of_this_machine_has_an_image_of_its_own(
    lifetime: Lifetime, asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(containers, "program_image", lambda daemon, program: Image(str(program), "local"))
    made = Containers(lifetime, [tmp_path / "shared"])
    process = made.process("etcd", ["/opt/etcd", "--option"], tmp_path / "work/log")
    assert (process.command, process.log) == (["/opt/etcd", "--option"], tmp_path / "work/log")
    recipe = process._recipe
    assert (recipe.image.name, recipe.work_dir) == ("/opt/etcd", str(tmp_path / "work"))
    assert recipe.folders == (str(lifetime.root), str(tmp_path / "shared"))
    assert made.used() == ["in Docker, by a daemon:", "etcd: local"]
    assert asked == ["daemon"]


@pytest.mark.usefixtures("asked")
def test_only_this_machines_jvm_maps_its_archives(lifetime: Lifetime, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Containers(lifetime).maps_classes(PRODUCT)
    local = Image("local", "how", ("java",), "/jars/x.jar", ours=True)
    monkeypatch.setattr(containers, "find_image", lambda daemon, product: local)
    daemon = Daemon("tcp://x", "a daemon", SimpleNamespace(images=SimpleNamespace(remove=lambda name, force: None)))
    monkeypatch.setattr(containers, "find_daemon", lambda lifetime: daemon)
    assert Containers(lifetime).maps_classes(PRODUCT)


def test_what_cannot_be_had_is_not_looked_for_again(lifetime: Lifetime, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def none(lifetime: Lifetime) -> Daemon:
        asked.append(lifetime)
        raise Unavailable("no Docker")

    monkeypatch.setattr(containers, "find_daemon", none)
    made = Containers(lifetime)
    for _ in range(2):
        with pytest.raises(Unavailable, match="no Docker"):
            made.maps_classes(PRODUCT)
    assert made.how(PRODUCT) == "in Docker, which could not be had: no Docker"
    assert (len(asked), made.used()) == (1, [])

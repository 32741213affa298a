"""The image that a release of BookKeeper, or ZooKeeper, runs in: the official one, or a local one.

The local image has a few empty directories. This machine's ``/usr``, its JVM and the released jars are mounted into it,
read-only. What runs in it is therefore the released code on another JVM than the official image's, which every report
has to say.  A program that is no Java's, such as etcd, has such an image, too, with its own folder in it.
"""

from __future__ import annotations

import io
import os
import secrets
import tarfile
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from compat_tests.targets.cache import cache_directory
from compat_tests.targets.docker.daemon import Daemon
from compat_tests.targets.java_program import Product
from compat_tests.targets.jvm import find_jvm

#: By product. BookKeeper's own compose files take this ZooKeeper.
OFFICIAL_NAMES = {"bookkeeper": "apache/bookkeeper:{release}", "zookeeper": "zookeeper:3.9"}
#: The variables that name others.
_VARIABLES = {"bookkeeper": "BKTX_DOCKER_IMAGE", "zookeeper": "BKTX_DOCKER_ZOOKEEPER_IMAGE"}
#: Where the official images have their jars; ZooKeeper's directory is named after its release, and on its PATH.
_OFFICIAL_JARS = {"bookkeeper": "/opt/bookkeeper/lib/*", "zookeeper": "@zookeeper@/lib/*"}
LOCAL_REPOSITORY = "bookkeeper-conformance-local"

#: Runs the image's own ``java``, with the place of ZooKeeper where its jars are asked for; 8, of the oldest images,
#: knows no ``--add-opens``.
_JAVA_OF_THE_IMAGE = """
if server=$(command -v zkServer.sh); then
  home=${server%/bin/*}
  for word do shift; case $word in @zookeeper@*) word=$home${word#@zookeeper@} ;; esac; set -- "$@" "$word"; done
fi
java=$(command -v java || echo "$JAVA_HOME/bin/java")
case $("$java" -version 2>&1) in *'"1.8'*)
  for word do shift; case $word in --add-opens=*) ;; *) set -- "$@" "$word" ;; esac; done ;;
esac
exec "$java" "$@"
"""

_EMPTY = ("dev", "etc", "proc", "root", "tmp", "usr", "var")
_OF_THE_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64")


@attrs.frozen
class Image:
    """An image, and how a Java program is run in it."""

    name: str
    how: str
    """For the report."""
    entrypoint: tuple[str, ...] = ()
    """Takes the arguments of ``java``; empty where the program is not Java's."""
    class_path: str = ""
    mounts: tuple[tuple[str, str], ...] = ()
    """Paths of this machine and of the container, read-only."""
    ours: bool = False
    """Whether we made it, and remove it."""

    def with_folders(self, folders: Iterable[Path]) -> Image:
        """The same with more folders to be seen, each under its own path."""
        return attrs.evolve(self, mounts=(*self.mounts, *((str(folder), str(folder)) for folder in folders)))


def find_image(daemon: Daemon, product: Product, environment: Mapping[str, str] = os.environ) -> Image:
    """The official image, pulled if need be, else the local one; raises ``Unavailable`` if that has no jars or JVM."""
    official = OFFICIAL_NAMES[product.name].format(release=product.release)
    name = environment.get(_VARIABLES[product.name], official).format(release=product.release)
    why = why_local(daemon, name, environment)
    if why is not None:
        return local_image(daemon, product, why, environment)
    described = f"the official image {name}" if name == official else f"the image {name}"
    entrypoint = ("/bin/sh", "-c", _JAVA_OF_THE_IMAGE, "java")
    return Image(name, described, entrypoint, _OFFICIAL_JARS[product.name], _extra_mounts(environment))


def why_local(daemon: Daemon, name: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Pull an image if need be; why not, where a local one is to be made."""
    if environment.get("BKTX_DOCKER_LOCAL") == "1":
        return "as BKTX_DOCKER_LOCAL=1 asks"
    missing = _pull_error(daemon, name)
    return None if missing is None else f"which could not be had: {missing}"


def local_image(daemon: Daemon, product: Product, why: str, environment: Mapping[str, str]) -> Image:
    """Make the local image."""
    jvm = find_jvm()
    jars = product.jars()
    folders = [jvm.home, *Path("/etc").glob("java-*")]  # Debian's JDK has its configuration there, by links
    folders += [cache_directory() / "jars", *sorted({jar.parent for jar in jars if not _cached(jar)})]
    made = _over_the_system(daemon, product.tag, folders, environment)
    how = f"a local image over this machine's {jvm.origin} and the released jars, not the official image ({why})"
    return attrs.evolve(made, how=how, entrypoint=(str(jvm.java),), class_path=":".join(map(str, jars)))


def program_image(daemon: Daemon, program: Path, environment: Mapping[str, str] = os.environ) -> Image:
    """A local image for a program of this machine, which is found in it under its own path."""
    made = _over_the_system(daemon, program.name, [program.parent], environment)
    return attrs.evolve(made, how=f"a local image over this machine's {program}, not an official one")


def _over_the_system(daemon: Daemon, tag: str, folders: Iterable[Path], environment: Mapping[str, str]) -> Image:
    links = system_links()
    name = import_image(daemon, tag, archive(links))
    seen = ["/usr", *(f"/{each}" for each in _OF_THE_SYSTEM if each not in links), *map(str, folders)]
    mounts = tuple((folder, folder) for folder in seen if Path(folder).is_dir())
    return Image(name, "", mounts=(*mounts, *_extra_mounts(environment)), ours=True)


def import_image(daemon: Daemon, tag: str, data: bytes, changes: Sequence[str] = ()) -> str:
    """Make an image of a tar file's contents, and return its name, which no other run's has."""
    tag = f"{tag}-{secrets.token_hex(4)}"
    daemon.client.api.import_image_from_data(data, repository=LOCAL_REPOSITORY, tag=tag, changes=list(changes))
    return f"{LOCAL_REPOSITORY}:{tag}"


def system_links() -> dict[str, str]:
    """The links that this machine's root has in the place of folders, as ``/bin`` to ``usr/bin``."""
    return {each: os.readlink(f"/{each}") for each in _OF_THE_SYSTEM if Path(f"/{each}").is_symlink()}


def archive(links: Mapping[str, str], files: Mapping[str, bytes] = {}, programs: Container[str] = ()) -> bytes:
    """A local image as a tar file: empty folders, links, and what it has of files, some of them programs."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in _EMPTY:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
        for name, place in links.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, place
            tar.addfile(link)
        for name, contents in files.items():
            file = tarfile.TarInfo(name)
            file.size, file.mode = len(contents), 0o755 if name in programs else 0o644
            tar.addfile(file, io.BytesIO(contents))
    return buffer.getvalue()


def _cached(jar: Path) -> bool:
    return jar.is_relative_to(cache_directory())


def _pull_error(daemon: Daemon, name: str) -> str | None:
    import docker

    images: Any = daemon.client.images
    try:
        images.get(name)
        return None
    except docker.errors.ImageNotFound:
        pass
    try:
        images.pull(name)
    except docker.errors.APIError as error:
        return str(error.explanation or error)
    return None


def _extra_mounts(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    parts = [part for part in environment.get("BKTX_DOCKER_MOUNTS", "").split(",") if part]
    return tuple((host, inside or host) for host, _, inside in (part.partition(":") for part in parts))

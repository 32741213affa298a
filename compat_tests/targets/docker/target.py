"""A Java bookie in containers as a target."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from compat_tests.targets import guardian
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.docker.bookie import ContainerBookie
from compat_tests.targets.docker.daemon import Daemon, find_daemon
from compat_tests.targets.docker.image import Image, find_image
from compat_tests.targets.java.instance import JavaInstance
from compat_tests.targets.shared_zookeeper import SharedZooKeeper
from compat_tests.targets.sites import Instance
from compat_tests.targets.started_target import Recipe, StartedTarget
from compat_tests.targets.unavailable import Unavailable


@attrs.frozen
class _DaemonAndImage:
    daemon: Daemon
    image: Image


class ContainerInstance(JavaInstance):
    """Its container is removed with it at the end; a stop in between keeps it."""

    def __init__(self, bookie: ContainerBookie, read_only: bool) -> None:
        super().__init__(bookie, read_only)
        self._container_bookie = bookie

    def remove(self) -> None:
        """End it and remove its container."""
        self._container_bookie.stop_and_remove()


class DockerTarget(StartedTarget):
    """One release; the daemon and the image are looked for when the first site is asked for."""

    implementation = "java"

    def __init__(self, release: str) -> None:
        super().__init__()
        self.release = release
        self.name = f"Java {release} in Docker"
        self._zookeeper = SharedZooKeeper(self.lifetime)
        self._lock = threading.Lock()
        self._daemon_and_image: _DaemonAndImage | Unavailable | None = None

    @property
    def how(self) -> str:
        """How it is run; looks for daemon and image if that has not been done."""
        try:
            docker = self._prepare()
        except Unavailable as missing:
            return f"in Docker, which could not be had: {missing.reason}"
        return f"in Docker ({docker.daemon.origin}): {docker.image.how}"

    @property
    def cluster(self) -> Cluster:
        """The root of the shared sites, in a ZooKeeper by jars on a local JVM."""
        return self._zookeeper.common

    def new_cluster(self) -> Cluster:
        """A root of its own."""
        return self._zookeeper.new_cluster()

    def make_bookie(self, cluster: Cluster | None, folder: Path, recipe: Recipe) -> ContainerInstance:
        """A container that has not been made."""
        docker = self._prepare()
        bookie = ContainerBookie(
            self.release,
            cluster or self.new_cluster(),
            folder,
            docker.daemon,
            docker.image,
            files=recipe.files,
            settings=recipe.settings,
            properties=recipe.jaas,
        )
        instance = ContainerInstance(bookie, recipe.read_only)
        self.lifetime.finally_do(instance.remove)
        return instance

    def discard(self, instance: Instance) -> None:
        """End it, and remove its container."""
        super().discard(instance)
        if isinstance(instance, ContainerInstance):
            instance.remove()

    def _prepare(self) -> _DaemonAndImage:
        with self._lock:
            if self._daemon_and_image is None:
                try:
                    self._daemon_and_image = self._find()
                except Unavailable as missing:
                    self._daemon_and_image = missing
        if isinstance(self._daemon_and_image, Unavailable):
            raise self._daemon_and_image
        return self._daemon_and_image

    def _find(self) -> _DaemonAndImage:
        daemon = find_daemon(self.lifetime)
        image = find_image(daemon, self.release)
        if image.ours:
            self.lifetime.finally_do(lambda: _remove(daemon.client, image.name))
            guardian.watch_docker(daemon.url, f"/images/{image.name}")
        return _DaemonAndImage(daemon, image)


def _remove(client: Any, name: str) -> None:
    import docker

    # Another run on the same daemon may have removed it already, or use it still.
    with suppress(docker.errors.ImageNotFound):
        client.images.remove(name)

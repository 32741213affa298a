"""A Java bookie in containers as a target."""

from __future__ import annotations

from compat_tests.targets.docker.containers import Containers
from compat_tests.targets.jars_target import JarsTarget


class DockerTarget(JarsTarget):
    """One release, one kind of storage, and their ZooKeeper, each in a container.

    The daemon and the images are looked for when the first site is asked for.
    """

    def __init__(self, release: str, storage: str = "sorted") -> None:
        super().__init__(release, storage, Containers)

    @property
    def name(self) -> str:
        """For headings."""
        return f"{super().name} in Docker"

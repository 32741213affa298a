"""Runs programs in containers: a daemon, and an image for each release, found when a program needs them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from compat_tests.targets import guardian
from compat_tests.targets.cache import exclusive
from compat_tests.targets.docker.attached import render
from compat_tests.targets.docker.container import ContainerProcess, Recipe
from compat_tests.targets.docker.daemon import Daemon, find_daemon
from compat_tests.targets.docker.image import Image, find_image, program_image
from compat_tests.targets.java.class_archive import CLASSES
from compat_tests.targets.java_program import JavaProgram, Product
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.unavailable import Unavailable


class Containers:
    """A :class:`compat_tests.targets.java_runner.JavaRunner`; what it has started ends with a lifetime.

    Every container may read and write the files of that lifetime, and what is in ``folders``, under the same paths.
    """

    def __init__(self, lifetime: Lifetime, folders: Iterable[Path] = ()) -> None:
        self._lifetime = lifetime
        self._folders = tuple(map(str, folders))
        self._lock = threading.RLock()
        self._found: Daemon | Unavailable | None = None
        self._images: dict[str, Image | Unavailable] = {}

    @property
    def daemon(self) -> Daemon:
        """The daemon, which is looked for when it is first asked for."""
        with self._lock:
            if self._found is None:
                try:
                    self._found = find_daemon(self._lifetime)
                except Unavailable as missing:
                    self._found = missing
            if isinstance(self._found, Unavailable):
                raise self._found
            return self._found

    def maps_classes(self, product: Product) -> bool:
        """Whether its image is a local one, over this machine's JVM and jars."""
        return self._image(product).ours

    def how(self, product: Product) -> str:
        """Whose daemon, and which image it is; looks for both."""
        try:
            image = self._image(product)
            return f"in Docker ({self.daemon.origin}): {image.how}"
        except Unavailable as missing:
            return f"in Docker, which could not be had: {missing.reason}"

    def used(self) -> list[str]:
        """How each product was run that was, for the end of a report; nothing is looked for."""
        found = {tag: image for tag, image in self._images.items() if isinstance(image, Image)}
        if not found or not isinstance(self._found, Daemon):
            return []
        return [f"in Docker, by {self._found.origin}:", *(f"{tag}: {found[tag].how}" for tag in sorted(found))]

    def server(self, name: str, program: JavaProgram) -> ContainerProcess:
        """A container that has not been made."""
        process = ContainerProcess(name, self._recipe(program))
        self._lifetime.finally_do(process.remove)
        return process

    def process(self, name: str, command: list[str], log: Path) -> ContainerProcess:
        """A container that has not been made, with a program of this machine; it may write to its log's folder."""
        image = self.image(Path(command[0]).name, lambda daemon: program_image(daemon, Path(command[0])))
        recipe = Recipe(
            url=self.daemon.url,
            image=image,
            command=command,
            log=str(log),
            work_dir=str(log.parent),
            folders=self._shared_folders,
        )
        process = ContainerProcess(name, recipe)
        self._lifetime.finally_do(process.remove)
        return process

    def command(self, program: JavaProgram) -> list[str]:
        """A command that runs a container."""
        return [sys.executable, "-m", "compat_tests.targets.docker.attached", render(self._recipe(program))]

    def _recipe(self, program: JavaProgram) -> Recipe:
        image = self._image(program.product)
        archives: list[str] = []
        if image.ours:
            with exclusive(CLASSES) as folder:  # the daemon would make it as root
                archives.append(str(folder))
        return Recipe(
            url=self.daemon.url,
            image=image.with_folders(path for path in program.classes if path.is_dir()),
            command=program.words(image.class_path),
            log=str(program.log),
            work_dir=str(program.work_dir),
            folders=(*self._shared_folders, *archives),
        )

    @property
    def _shared_folders(self) -> tuple[str, ...]:
        return (str(self._lifetime.root), *self._folders)

    def _image(self, product: Product) -> Image:
        return self.image(product.tag, lambda daemon: find_image(daemon, product))

    def image(self, tag: str, find: Callable[[Daemon], Image]) -> Image:
        """The image that reports call by this tag, looked for once; it is removed at the end if we made it."""
        daemon = self.daemon
        with self._lock:
            if tag not in self._images:
                try:
                    self._images[tag] = self._find_image(daemon, find)
                except Unavailable as missing:
                    self._images[tag] = missing
            found = self._images[tag]
        if isinstance(found, Unavailable):
            raise found
        return found

    def _find_image(self, daemon: Daemon, find: Callable[[Daemon], Image]) -> Image:
        image = find(daemon)
        if image.ours:
            self._lifetime.finally_do(lambda: _remove(daemon.client, image.name))
            guardian.watch_docker(daemon.url, f"/images/{image.name}")
        return image


def _remove(client: Any, name: str) -> None:
    import docker

    # A client that was killed may not have been removed yet by whoever watches over it, who knows nothing of its image.
    with suppress(docker.errors.APIError):
        client.images.remove(name, force=True)

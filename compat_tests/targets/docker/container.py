"""Containers by testcontainers: what one is made of, and a server in one with the methods of a process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs

from compat_tests.targets import guardian
from compat_tests.targets.docker.image import Image
from compat_tests.targets.process import ServerProcess

_LOGS = 'exec "$@" >>"$0" 2>&1'
"""Runs a command whose output is appended to a file, so that tests find the log where that of a process is."""
_TALKS = 'exec "$@" 2>>"$0"'
"""The same for one that speaks on its standard output."""


@attrs.frozen(kw_only=True)
class Recipe:
    """What a container is made of; it shares this machine's network, and runs as our own user."""

    url: str
    """Of the daemon."""
    image: Image
    command: list[str]
    """Arguments of the image's entry point."""
    log: str
    """The file that it writes to, in one of its folders."""
    work_dir: str
    folders: tuple[str, ...] = ()
    """Further folders that it may write to, each under its own path."""

    def new(self, *, talks: bool = False) -> Any:
        """A ``DockerContainer`` that has not been made.

        :param talks: whether its standard input is open, for one connection, with whose end it ends, and its output
            is not only for the log
        """
        from testcontainers.core.config import testcontainers_config
        from testcontainers.core.container import DockerContainer

        # Its reaper is one more image to pull, and a second owner of what our own end removes.
        testcontainers_config.ryuk_disabled = True
        made = DockerContainer(self.image.name, docker_client_kw={"environment": {"DOCKER_HOST": self.url}})
        made.image = self.image.name  # as it is, without a prefix that testcontainers may be set up to use
        made.with_command(self.command)
        made.with_kwargs(
            network="host",
            entrypoint=["/bin/sh", "-c", _TALKS if talks else _LOGS, self.log, *self.image.entrypoint],
            user=f"{os.getuid()}:{os.getgid()}",  # so that we can remove what it writes
            working_dir=self.work_dir,
            stdin_open=talks,
        )
        for host, inside in self.image.mounts:
            made.with_volume_mapping(host, inside, "ro")
        for folder in {self.work_dir, *self.folders}:
            made.with_volume_mapping(folder, folder, "rw")
        return made

    def watch(self, container: Any) -> None:
        """Have a container removed if we are killed before we do it."""
        guardian.watch_docker(self.url, f"/containers/{container.id}?force=1&v=1")


class ContainerProcess(ServerProcess):
    """A container with the methods of a process.  It is made when first started, and kept until :meth:`remove`."""

    def __init__(self, name: str, recipe: Recipe) -> None:
        super().__init__(name, recipe.command, Path(recipe.log))
        self._recipe = recipe
        self._wrapper: Any = None

    @property
    def pid(self) -> int:
        """The process id, outside of the container."""
        return int(self._reloaded().attrs["State"]["Pid"])

    @property
    def running(self) -> bool:
        """Whether it runs; a paused one does."""
        return self._wrapper is not None and self._reloaded().status in ("running", "paused", "restarting")

    @property
    def returncode(self) -> int | None:
        """How it ended, ``None`` while it runs."""
        return None if self.running else int(self._container.attrs["State"]["ExitCode"])

    def start(self) -> None:
        """Start the container, a new one the first time."""
        self._log_before = self.log.stat().st_size if self.log.exists() else 0
        if self._wrapper is None:
            self._wrapper = self._recipe.new()
            self._wrapper.start()
            self._recipe.watch(self._container)
        else:
            self._container.start()

    def stop(self, timeout_s: float = 15) -> None:
        """SIGTERM, SIGKILL if that takes too long; nothing if it has ended."""
        if self.running:
            self.resume()
            self._container.stop(timeout=int(timeout_s))

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        if self.running:
            self._container.kill()
            self._container.wait()

    def pause(self) -> None:
        """Freeze it: connections stay open, nothing is answered."""
        self._container.pause()

    def resume(self) -> None:
        """Let a paused one go on."""
        if self._reloaded().status == "paused":
            self._container.unpause()

    def remove(self) -> None:
        """End it in order, and remove the container."""
        if self._wrapper is not None and self._wrapper._container is not None:
            self.stop()
            self._wrapper.stop()
            self._wrapper = None

    @property
    def _container(self) -> Any:
        return self._wrapper.get_wrapped_container()

    def _reloaded(self) -> Any:
        self._container.reload()
        return self._container

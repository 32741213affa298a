"""A Java bookie in a container: the same configuration and directories as one by jars, and the same commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from compat_tests.targets import guardian
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.docker.daemon import Daemon
from compat_tests.targets.docker.image import Image
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.process import ServerProcess


class ContainerProcess(ServerProcess):
    """A container with the methods of a process. It is made when first started, and kept until :meth:`remove`."""

    def __init__(self, name: str, daemon: Daemon, image: Image, arguments: list[str], folder: Path) -> None:
        super().__init__(name, arguments, folder / "bookie.log")
        self._daemon = daemon
        self._image = image
        self._folder = folder
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
        if self._wrapper is None:
            self._wrapper = self._new_wrapper()
            self._wrapper.start()
            guardian.watch_docker(self._daemon.url, f"/containers/{self._container.id}?force=1&v=1")
        else:
            self._log_before = len(self._container.logs())
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

    def has_said(self, text: str) -> bool:
        """Whether it has written this since it was started last."""
        return text.encode() in self._container.logs()[self._log_before :]

    def tail(self, lines: int = 40) -> str:
        """The last lines that it wrote."""
        if self._wrapper is None:
            return "(no log)"
        return str(self._container.logs(tail=lines).decode(errors="replace"))

    def remove(self) -> None:
        """Remove the container, running or not."""
        if self._wrapper is not None and self._wrapper._container is not None:
            self._wrapper.stop()
            self._wrapper = None

    @property
    def _container(self) -> Any:
        return self._wrapper.get_wrapped_container()

    def _reloaded(self) -> Any:
        self._container.reload()
        return self._container

    def _new_wrapper(self) -> Any:
        from testcontainers.core.config import testcontainers_config
        from testcontainers.core.container import DockerContainer

        # Its reaper is one more image to pull, and a second owner of what our own end removes.
        testcontainers_config.ryuk_disabled = True
        wrapper = DockerContainer(self._image.name, docker_client_kw={"environment": self._daemon.environment})
        wrapper.image = self._image.name  # as it is, without a prefix that testcontainers may be set up to use
        wrapper.with_command(self.command)
        wrapper.with_kwargs(
            network="host",
            entrypoint=list(self._image.entrypoint),
            user=f"{os.getuid()}:{os.getgid()}",  # so that we can remove what it writes
            working_dir=str(self._folder),
        )
        for host, inside in self._image.mounts:
            wrapper.with_volume_mapping(host, inside, "ro")
        wrapper.with_volume_mapping(str(self._folder), str(self._folder), "rw")
        return wrapper


class ContainerBookie(JavaBookie):
    """One bookie in a container; its work directory has the same path inside."""

    def __init__(
        self,
        release: str,
        cluster: Cluster,
        work_dir: Path,
        daemon: Daemon,
        image: Image,
        *,
        files: Path | None = None,
        **options: Any,
    ) -> None:
        super().__init__(release, cluster, work_dir, **options)
        self._daemon = daemon
        self._image = image if files is None else image.with_folder(files)

    def stop_and_remove(self) -> None:
        """End it, and its container."""
        if isinstance(self._process, ContainerProcess):
            self._process.stop()
            self._process.remove()

    def _new_process(self, name: str) -> ContainerProcess:
        arguments = self._java_arguments(self._image.class_path)
        return ContainerProcess(name, self._daemon, self._image, arguments, self.work_dir)

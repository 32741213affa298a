"""A Java bookie with the methods that the instances of every target have."""

from __future__ import annotations

from compat_tests.targets.java.bookie import JavaBookie


class JavaInstance:
    """A :class:`JavaBookie` as a :class:`compat_tests.targets.sites.Instance`."""

    def __init__(self, bookie: JavaBookie, read_only: bool) -> None:
        self.bookie = bookie
        self._read_only = read_only

    def start(self) -> tuple[str, int]:
        """Start it and wait until it serves and is registered."""
        self.bookie.start(read_only=self._read_only)
        return "127.0.0.1", self.bookie.port

    def stop(self) -> None:
        """End it with SIGTERM."""
        self.bookie.stop()

    def kill(self) -> None:
        """End it with SIGKILL, and remove its registration: its next start would wait until that expires."""
        if self.bookie.process.running:
            self.bookie.kill(expire=True)

"""Who runs Java's bookies, clients and ZooKeeper: a JVM of this machine, or something else that a run has chosen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from compat_tests.targets.java_program import JavaProgram, Product
from compat_tests.targets.jvm import find_jvm
from compat_tests.targets.process import ServerProcess
from compat_tests.targets.unavailable import Unavailable


class JavaRunner(Protocol):
    """Runs Java programs; each method raises :class:`Unavailable` where what it takes cannot be had."""

    def maps_classes(self, product: Product) -> bool:
        """Whether its JVMs are those that the archives of classes on this machine are for."""

    def how(self, product: Product) -> str:
        """How programs of this product are run, for reports."""

    def server(self, name: str, program: JavaProgram) -> ServerProcess:
        """A server that has not been started."""

    def command(self, program: JavaProgram) -> list[str]:
        """A command of this machine that runs the program between its own standard input and output.

        The program is gone, however the command ends.
        """


class LocalJvm:
    """Runs each program as a process."""

    def maps_classes(self, product: Product) -> bool:
        """They are."""
        return True

    def how(self, product: Product) -> str:
        """By its jars."""
        try:
            origin = find_jvm().origin
        except Unavailable as missing:
            origin = missing.reason
        return f"jars on a local JVM ({origin})"

    def server(self, name: str, program: JavaProgram) -> ServerProcess:
        """A process."""
        return ServerProcess(name, self.command(program), program.log)

    def command(self, program: JavaProgram) -> list[str]:
        """The command line of the JVM."""
        return [str(find_jvm().java), *program.words(":".join(map(str, program.product.jars())))]


_chosen: JavaRunner = LocalJvm()


def chosen_runner() -> JavaRunner:
    """Who runs what is started without saying by whom."""
    return _chosen


@contextmanager
def java_run_by(runner: JavaRunner) -> Iterator[JavaRunner]:
    """Have everything run by this one that is made meanwhile and names none."""
    global _chosen
    before, _chosen = _chosen, runner
    try:
        yield runner
    finally:
        _chosen = before

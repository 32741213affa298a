"""A Java program that a test needs, whatever runs it: a JVM of this machine, or a container."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from compat_tests.targets.jars import class_path
from compat_tests.targets.jvm import SMALL_JVM


@attrs.frozen
class Product:
    """What a program is a part of, by the name of its image; its jars are fetched when a JVM of ours needs them."""

    name: str
    """``bookkeeper`` or ``zookeeper``."""
    release: str
    """Empty where it is not ours to choose."""
    jars: Callable[[], Sequence[Path]] = attrs.field(eq=False)

    @property
    def tag(self) -> str:
        """What tells it from others."""
        return self.release or self.name


def bookkeeper(release: str) -> Product:
    """A release of BookKeeper."""
    return Product("bookkeeper", release, lambda: class_path(release))


@attrs.frozen(kw_only=True)
class JavaProgram:
    """A main class with its arguments, and what its JVM is to be like."""

    product: Product
    main: str
    arguments: Sequence[str]
    work_dir: Path
    """Written to by the program; it has the same path in a container."""
    log: Path
    """In that folder: what it says, but for the answers of a program that speaks on its standard output."""
    heap_mb: int
    flags: Sequence[str] = ()
    """Of the JVM, beside those of ``base_flags``."""
    base_flags: Sequence[str] = SMALL_JVM
    classes: Sequence[Path] = ()
    """Jars and folders of classes that it has besides its product's."""

    def words(self, jars: str) -> list[str]:
        """The arguments of ``java``, for a class path that begins with ``jars``."""
        path = ":".join([jars, *map(str, self.classes)])
        flags = [f"-Xmx{self.heap_mb}m", *self.base_flags, *self.flags]
        return [*flags, "-cp", path, self.main, *self.arguments]

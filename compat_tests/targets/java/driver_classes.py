"""Compile the Java programs that drive the Java client, once for each release: their interfaces differ."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from functools import cache
from pathlib import Path

from compat_tests.targets.cache import exclusive
from compat_tests.targets.jars import class_path, ecj
from compat_tests.targets.jvm import find_jvm

SOURCES = Path(__file__).parent

MAIN_CLASS = "driver.Main"

#: Java 11, as old bookies run on it; ``--release`` would need files that the wheel's JVM lacks.
_LANGUAGE = ("-source", "11", "-target", "11")


class CompileFailed(Exception):
    """Our Java source does not compile against a release; the text is what the compiler said."""


def source_files(folder: Path = SOURCES) -> list[Path]:
    """The source files of a program, the driver's by default."""
    return sorted(folder.rglob("*.java"))


def source_hash(sources: list[Path]) -> str:
    """A short hash of names and texts, so that an edited source is compiled again."""
    digest = hashlib.sha256()
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def driver_class_path(release: str, sources: Path = SOURCES) -> tuple[Path, ...]:
    """The class path of the driver, or of the program in the folder ``sources``, for ``release``.

    These are the release's jars, first as in a bookie's class path, whose archive of classes it shares; and the
    compiled classes.
    """
    return (*class_path(release), driver_classes(release, sources))


@cache
def driver_classes(release: str, sources: Path = SOURCES) -> Path:
    """The folder of the compiled classes of the driver, or of the program in ``sources``."""
    jars = class_path(release)
    files = source_files(sources)
    with exclusive("driver") as folder:
        classes = folder / f"{release}-{source_hash(files)}"
        if not classes.is_dir():
            _compile(files, jars, classes)
    return classes


def _compile(sources: list[Path], jars: tuple[Path, ...], classes: Path) -> None:
    unfinished = classes.parent / (classes.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = find_jvm().command("-jar", ecj(), *_LANGUAGE, "-nowarn", "-proc:none", heap_mb=256)
    command += ["-cp", ":".join(map(str, jars)), "-d", str(unfinished), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise CompileFailed(f"{' '.join(command[-2:])}:\n{done.stdout}{done.stderr}")
    unfinished.rename(classes)

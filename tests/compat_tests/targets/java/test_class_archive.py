"""The archives of classes, with a script in place of the JVM."""

from pathlib import Path

import pytest

from compat_tests.targets.java.class_archive import ClassArchive
from compat_tests.targets.jvm import Jvm

DUMPS = 'for word; do case "$word" in -XX:SharedArchiveFile=*) echo classes > "${word#*=}";; esac; done\n'
FAILS = "exit 1\n"


@pytest.fixture
def jvm(tmp_path, monkeypatch):
    monkeypatch.setenv("BKTX_CACHE", str(tmp_path / "cache"))

    def make(script: str = DUMPS) -> Jvm:
        java = tmp_path / "java"
        java.write_text(f"#!/bin/sh\n{script}")
        java.chmod(0o755)
        return Jvm(java, 17, "test")

    return make


def _archive(jvm: Jvm, jars: tuple[str, ...] = ("a.jar",)) -> ClassArchive:
    return ClassArchive("bookkeeper-4.18.0", jvm, tuple(map(Path, jars)))


def _files(flags: list[str]) -> list[str]:
    assert len(flags) == 1
    return flags[0].removeprefix("-XX:SharedArchiveFile=").split(":")


def _record(archive: ClassArchive) -> list[str]:
    """Be the JVM that writes down its classes."""
    flags = archive.recording_flags()
    Path(flags[0].removeprefix("-XX:ArchiveClassesAtExit=")).write_text("classes")
    return flags


def test_the_first_jvm_maps_java_and_records(jvm):
    archive = _archive(jvm())
    (java,) = _files(archive.flags())
    assert Path(java).read_text() == "classes\n"
    assert archive.recording_flags()[0].startswith("-XX:ArchiveClassesAtExit=")


def test_one_jvm_of_a_process_records(jvm):
    archive = _archive(jvm())
    archive.flags()
    assert archive.recording_flags()
    assert archive.recording_flags() == []


def test_what_is_kept_is_mapped_by_every_process(jvm):
    archive = _archive(jvm())
    archive.flags()
    _record(archive)
    assert len(_files(archive.flags())) == 1, "it may not be whole yet"
    archive.keep()
    for later in (archive, _archive(jvm())):
        _, whole = _files(later.flags())
        assert Path(whole).read_text() == "classes"
        assert later.recording_flags() == []


def test_a_jvm_that_left_nothing_is_asked_for_nothing(jvm):
    archive = _archive(jvm())
    archive.flags()
    archive.recording_flags()
    archive.keep()
    assert len(_files(archive.flags())) == 1


def test_another_class_path_or_jvm_has_another_archive(jvm):
    archive = _archive(jvm())
    archive.flags()
    _record(archive)
    archive.keep()
    assert len(_files(_archive(jvm(), ("b.jar",)).flags())) == 1
    other = Jvm(jvm().java, 17, "another")
    assert len(_files(_archive(other).flags())) == 1


def test_a_jvm_that_makes_no_archive_goes_without(jvm):
    archive = _archive(jvm(FAILS))
    assert archive.flags() == []
    assert archive.recording_flags() == []
    jvm(DUMPS)
    assert archive.flags() == [], "it is not asked at each start"

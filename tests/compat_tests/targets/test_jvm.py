"""Choosing a JVM."""

from pathlib import Path

import pytest

from compat_tests.targets.jvm import Jvm, parse_java_version, system_jvm
from compat_tests.targets.unavailable import Unavailable


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime', 17),
        ('java version "1.8.0_302"', 8),
        ('openjdk version "25" 2025-09-16', 25),
    ],
)
def test_the_version_is_read(text, version):
    assert parse_java_version(text) == version


def test_other_text_is_no_version():
    with pytest.raises(Unavailable):
        parse_java_version("command not found")


@pytest.mark.parametrize("environment", [{"PATH": ""}, {"JAVA_HOME": "/nowhere", "PATH": ""}])
def test_no_system_java_is_unavailable(environment):
    with pytest.raises(Unavailable, match="there is no java"):
        system_jvm(environment)


def _java(folder: Path, version: str) -> dict[str, str]:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


def test_java_home_is_used(tmp_path):
    jvm = system_jvm(_java(tmp_path, "21.0.1"))
    assert (jvm.version, jvm.home, jvm.origin) == (21, tmp_path.resolve(), 'system: openjdk version "21.0.1"')


def test_an_old_system_java_is_unavailable(tmp_path):
    with pytest.raises(Unavailable, match="Java 17 or later is needed"):
        system_jvm(_java(tmp_path, "11.0.2"))


def test_a_command_is_small_and_speaks_ipv4():
    command = Jvm(Path("/j/bin/java"), 17, "test").command("-cp", Path("x"), "Main", heap_mb=64)
    assert command[:2] == ["/j/bin/java", "-Xmx64m"]
    assert "-Djava.net.preferIPv4Stack=true" in command
    assert command[-3:] == ["-cp", "x", "Main"]

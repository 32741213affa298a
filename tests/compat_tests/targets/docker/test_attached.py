"""A container's standard input and output as those of a process."""

import io
from pathlib import Path

import pytest

from compat_tests.targets.docker import attached
from compat_tests.targets.docker.container import Recipe
from compat_tests.targets.docker.image import Image

RECIPE = Recipe(
    url="unix:///sock",
    image=Image("name:tag", "how", ("java", "-x"), "/jars/*", (("/usr", "/usr"), ("/a", "/b")), ours=True),
    command=["-cp", "a b", "Main"],
    log="/work/client.log",
    work_dir="/work",
    folders=("/shared",),
)


def test_a_recipe_is_one_argument() -> None:
    assert attached.parse(attached.render(RECIPE)) == RECIPE


class Slowly(io.RawIOBase):
    """Gives a byte at a time, as a socket may."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        return self._data.readinto(memoryview(buffer)[:1])


def test_output_comes_without_its_headers() -> None:
    pieces = b"\1\0\0\0\0\0\0\3one" + b"\1\0\0\0\0\0\1\0" + b"x" * 256
    output = io.BytesIO()
    attached.copy_output(io.BufferedReader(Slowly(pieces)), output)
    assert output.getvalue() == b"one" + b"x" * 256


@pytest.mark.parametrize(("talks", "shell"), [(False, '>>"$0" 2>&1'), (True, '2>>"$0"')])
def test_what_a_container_is_made_of(talks: bool, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    testcontainers = pytest.importorskip("testcontainers.core.container")
    monkeypatch.setattr(testcontainers, "DockerClient", lambda **options: options)
    made = RECIPE.new(talks=talks)
    assert made.image == "name:tag"
    assert made._command == RECIPE.command
    assert made._kwargs["entrypoint"] == ["/bin/sh", "-c", f'exec "$@" {shell}', "/work/client.log", "java", "-x"]
    assert (made._kwargs["network"], made._kwargs["stdin_open"]) == ("host", talks)
    mounts = {str(Path(host)): (each["bind"], each["mode"]) for host, each in made.volumes.items()}
    assert mounts == {
        "/usr": ("/usr", "ro"),
        "/a": ("/b", "ro"),
        "/work": ("/work", "rw"),
        "/shared": ("/shared", "rw"),
    }

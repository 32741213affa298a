"""Run a container between this process's own standard input and output: ``docker run -i``, without Docker's command.

``python -m compat_tests.targets.docker.attached RECIPE`` takes a recipe as JSON (:func:`render`).  When its standard
input ends, so does the container's, which the program is expected to end at.  However this process ends, its container
is removed; the exit code is the program's.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any, BinaryIO

import attrs

from compat_tests.targets.docker.container import Recipe
from compat_tests.targets.docker.image import Image

_CHUNK = 1 << 20
_HEADER_SIZE = 8
"""Before each piece of output: the stream's number, three zeros, the size as a 32-bit integer."""
_ENDS_WITHIN_S = 5
"""After the end of its input; a JVM that halts takes milliseconds."""


def render(recipe: Recipe) -> str:
    """The recipe as the one argument of this program."""
    return json.dumps(attrs.asdict(recipe))


def parse(text: str) -> Recipe:
    """The recipe that :func:`render` has written."""
    values = json.loads(text)
    image = values.pop("image")
    for name in ("entrypoint", "mounts"):
        image[name] = tuple(tuple(each) if isinstance(each, list) else each for each in image[name])
    return Recipe(image=Image(**image), **{**values, "folders": tuple(values["folders"])})


def copy_output(stream: BinaryIO, output: BinaryIO) -> None:
    """Write what comes from a container, to its end, without its headers."""
    while len(header := stream.read(_HEADER_SIZE)) == _HEADER_SIZE:
        output.write(stream.read(int.from_bytes(header[4:], "big")))
        output.flush()


def main(text: str) -> int:
    """Run it, and give its exit code."""
    recipe = parse(text)
    wrapper = recipe.new(talks=True)
    try:
        wrapper.start()
        container = wrapper.get_wrapped_container()
        recipe.watch(container)
        # It has said nothing yet: its errors are in its log, and it answers only what it is asked.
        attached = container.attach_socket(params={"stdin": 1, "stdout": 1, "stream": 1})
        threading.Thread(target=_feed, args=(attached._sock, container), daemon=True).start()
        with suppress(BrokenPipeError):
            copy_output(io.BufferedReader(attached), sys.stdout.buffer)
        return int(container.wait()["StatusCode"])
    finally:
        wrapper.stop()


def _feed(connection: Any, container: Any) -> None:
    """Give the container our input, and end it if it does not end at the end of that."""
    with suppress(OSError):
        while chunk := os.read(sys.stdin.fileno(), _CHUNK):
            connection.sendall(chunk)
    _end_input(connection)
    with suppress(Exception):  # it has ended, or the daemon has
        try:
            container.wait(timeout=_ENDS_WITHIN_S)
        except OSError:  # as a read that takes too long
            container.kill()


def _end_input(connection: Any) -> None:
    import socket

    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main(sys.argv[1]))

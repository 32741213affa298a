"""The container image for other projects is built, and runs the suite."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.targets.docker.daemon import Daemon, find_daemon
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.unavailable import Unavailable

ROOT = Path(__file__).parent.parent.parent.parent
BASE = "python:3.11-slim"
NAME = "bookkeeper-conformance:under-test"


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    with Lifetime() as lifetime:
        try:
            yield find_daemon(lifetime)
        except Unavailable as reason:
            pytest.skip(f"not checked: {reason}")


@pytest.fixture(scope="module")
def image(daemon: Daemon) -> Iterator[str]:
    import docker

    try:
        daemon.client.images.get(BASE)
    except docker.errors.ImageNotFound:
        try:
            daemon.client.images.pull(BASE)
        except (docker.errors.APIError, OSError) as reason:
            pytest.skip(f"not checked: {BASE} is neither here nor to be had: {reason}")
    options: Any = {"dockerfile": "compat_tests/container/Containerfile", "rm": True, "network_mode": "host"}
    daemon.client.images.build(path=str(ROOT), tag=NAME, **options)
    yield NAME
    daemon.client.images.remove(NAME, force=True)


@pytest.mark.docker
@pytest.mark.full
@pytest.mark.timeout(900)
def test_the_container_is_the_suite(daemon: Daemon, image: str) -> None:
    said = daemon.client.containers.run(image, ["list", "BKW-READ-*"], remove=True, network_mode="host")
    assert b"BKW-READ-001" in said
    assert daemon.client.containers.run(image, ["--version"], remove=True, network_mode="host")

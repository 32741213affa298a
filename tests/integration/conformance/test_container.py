"""The container image for other projects is built, and runs the suite."""

import os
import re
import secrets
from pathlib import Path
from typing import Any

import pytest

from compat_tests.targets.docker.containers import Containers
from compat_tests.targets.docker.daemon import Daemon
from compat_tests.targets.docker.image import LOCAL_REPOSITORY, Image
from tests.integration.support.python_image import python_image

ROOT = Path(__file__).parent.parent.parent.parent
CONTAINERFILE = ROOT / "compat_tests" / "container" / "Containerfile"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


def built(daemon: Daemon, python: Image, stage: str | None) -> Image:
    """The image up to a stage, or the whole one."""
    name = f"{LOCAL_REPOSITORY}:suite-{secrets.token_hex(4)}"
    options: Any = {
        "path": str(ROOT),
        "dockerfile": str(CONTAINERFILE.relative_to(ROOT)),
        "buildargs": {"PYTHON": python.name, **{each: os.environ[each] for each in PROXIES if each in os.environ}},
        "network_mode": "host",
        "rm": True,
        "forcerm": True,
    }
    daemon.client.images.build(tag=name, target=stage, **options)
    return Image(name, f"the suite's own, by its {CONTAINERFILE.name}{f' up to {stage}' if stage else ''}", ours=True)


@pytest.fixture(scope="module")
def daemon(java_containers: Containers) -> Daemon:
    return java_containers.daemon


@pytest.fixture(scope="module")
def image(java_containers: Containers) -> str:
    base = re.search(r"^ARG PYTHON=(\S+)$", CONTAINERFILE.read_text(encoding="utf-8"), re.M)
    assert base is not None
    python = java_containers.image("python", lambda daemon: python_image(daemon, base[1]))
    # A stage that has no name would stay behind.
    java_containers.image("suite-build", lambda daemon: built(daemon, python, "build"))
    return java_containers.image("suite", lambda daemon: built(daemon, python, None)).name


@pytest.mark.docker
@pytest.mark.full
@pytest.mark.timeout(900)
def test_the_container_is_the_suite(daemon: Daemon, image: str) -> None:
    said = daemon.client.containers.run(image, ["list", "BKW-READ-*"], remove=True, network_mode="host")
    assert b"BKW-READ-001" in said
    assert daemon.client.containers.run(image, ["--version"], remove=True, network_mode="host")

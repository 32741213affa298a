"""The compiler of ``.proto`` files, for tests."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from compat_tests.targets.cache import exclusive
from protocol_specs import compile_protos

LAST_PYTHON = (3, 13)
"""The last one that the pinned compiler is built for; a later one would have to build it, which takes an hour."""


def _not_checked(reason: str) -> NoReturn:
    """Skip; fail where everything must be checked."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def installed_compiler() -> Path:
    """Return the directory of grpcio-tools, apart from all else: it needs an older protobuf than the one installed."""
    if sys.version_info[:2] > LAST_PYTHON:
        pytest.skip(f"not checked: {compile_protos.TOOLS_REQUIREMENT} has no wheel for this Python; others check it")
    with exclusive(compile_protos.TOOLS_REQUIREMENT.replace("==", "-")) as folder:
        target = folder / f"python{sys.version_info.major}.{sys.version_info.minor}"
        if not target.exists():
            fresh = folder / "unfinished"
            pip = [sys.executable, "-m", "pip", "install", "-q", "--only-binary", ":all:"]
            try:
                what = ["--upgrade", "--target", str(fresh), compile_protos.TOOLS_REQUIREMENT]
                subprocess.run([*pip, *what], check=True, timeout=240)
            except (OSError, subprocess.SubprocessError) as error:
                _not_checked(f"{compile_protos.TOOLS_REQUIREMENT} cannot be had: {error}")
            fresh.rename(target)
        return target

"""The checked-in protobuf modules are what the pinned compiler makes of the .proto files."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from compat_tests.targets.cache import exclusive
from protocol_specs import compile_protos

#: The last Python that the pinned compiler is built for; a later one would have to build it, which takes an hour.
LAST_PYTHON = (3, 13)


def not_checked(reason: str) -> NoReturn:
    """Skip; fail where everything must be checked."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def tools() -> Path:
    """grpcio-tools in a directory of its own: it needs an older protobuf than the one that is installed."""
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
                not_checked(f"{compile_protos.TOOLS_REQUIREMENT} cannot be had: {error}")
            fresh.rename(target)
        return target


@pytest.mark.slow
@pytest.mark.parametrize("proto", compile_protos.proto_files())
def test_checked_in_module_is_fresh(proto: str, tools: Path) -> None:
    checked_in = compile_protos.embedded_descriptor(compile_protos.generated_path(proto))
    assert checked_in == compile_protos.descriptor_of(proto, tools), "run python -m protocol_specs.compile_protos"


@pytest.mark.parametrize("proto", compile_protos.proto_files())
def test_checked_in_stub_is_fresh(proto: str, tools: Path, tmp_path: Path) -> None:
    stub = compile_protos.generated_path(proto).with_suffix(".pyi")
    compile_protos.run_compiler(proto, f"--pyi_out={tmp_path}", tools=tools)
    fresh = (tmp_path / proto).with_name(stub.name)
    assert stub.read_text() == fresh.read_text(), "run python -m protocol_specs.compile_protos"


@pytest.mark.parametrize("proto", compile_protos.proto_files())
def test_file_is_registered_under_its_full_path(proto: str) -> None:
    assert proto.startswith("protocol_specs/")
    name = compile_protos.embedded_descriptor(compile_protos.generated_path(proto))[2:]
    assert name.startswith(proto.encode())


def test_module_without_descriptor_is_an_error(tmp_path: Path) -> None:
    module = tmp_path / "empty_pb2.py"
    module.write_text("")
    with pytest.raises(ValueError, match="holds no descriptor"):
        compile_protos.embedded_descriptor(module)

"""The checked-in protobuf modules are what the pinned compiler makes of the .proto files."""

from pathlib import Path

import pytest

from protocol_specs import compile_protos


@pytest.mark.slow
@pytest.mark.parametrize("proto", compile_protos.proto_files())
def test_checked_in_module_is_fresh(proto: str, proto_compiler: Path) -> None:
    checked_in = compile_protos.embedded_descriptor(compile_protos.generated_path(proto))
    assert checked_in == compile_protos.descriptor_of(proto, proto_compiler), (
        "run python -m protocol_specs.compile_protos"
    )


@pytest.mark.parametrize("proto", compile_protos.proto_files())
def test_checked_in_stub_is_fresh(proto: str, proto_compiler: Path, tmp_path: Path) -> None:
    stub = compile_protos.generated_path(proto).with_suffix(".pyi")
    compile_protos.run_compiler(proto, f"--pyi_out={tmp_path}", tools=proto_compiler)
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

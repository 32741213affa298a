"""The V2 messages against bytes computed and captured from Java."""

from typing import Any

import pytest

from protocol_specs import codecs, vectors
from protocol_specs.wire import tails, v2


def _messages() -> list[Any]:
    cases = []
    for vector in vectors.load("wire"):
        for side in ("request", "reply") if "request" in vector else ("",):
            data, spec, decoded = (vector[each] for each in _keys(side))
            if spec.startswith("wire/v2."):
                cases.append(pytest.param(bytes.fromhex(data), spec, decoded, id=f"{vector['name']} {side}".strip()))
    return cases


def _keys(side: str) -> tuple[str, str, str]:
    return (side, f"{side}_spec", f"{side}_fields") if side else ("hex", "spec", "fields")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return [_plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("data", "spec", "decoded"), _messages())
def test_vector(data: bytes, spec: str, decoded: dict[str, Any]) -> None:
    declaration = getattr(v2, spec.removeprefix("wire/v2."))
    codec = codecs.derive(spec, declaration)
    names = codec.fields if codec.tail in (None, tails.Ignored) else (*codec.fields, codec.tail_name)
    values = codec.unpack_from(data)
    assert dict(zip(names, map(_plain, values), strict=False)) == decoded
    read = declaration.parse(data)
    assert {name: _plain(read[name]) for name in names} == decoded
    packed = codec.pack(*values)
    assert packed == declaration.build(read)
    # What follows a request is ignored, and so not built: a key where version or flags say there is none.
    assert data.startswith(packed) if decoded.get("master_key", "") is None else data == packed


def test_every_operation_has_a_vector() -> None:
    specs = {parameter.values[1] for parameter in _messages()}
    frames = {f"wire/v2.{name}" for name in vars(v2) if name.endswith("_FRAME")}
    assert specs == frames


def test_sizes() -> None:
    sizes = {
        name: codecs.derive(name, getattr(v2, name)).size for name in vars(v2) if name.endswith(("REQUEST", "REPLY"))
    }
    assert sizes == {
        "ADD_REQUEST": 40,
        "ADD_REPLY": 24,
        "READ_REQUEST": 20,
        "READ_REPLY": 24,
        "BATCH_READ_REQUEST": 40,
        "BATCH_READ_REPLY": 32,
    }

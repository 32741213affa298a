"""The declarations of metadata records against the vectors."""

import json
from pathlib import Path
from typing import Any

import pytest
from construct import ConstructError

from protocol_specs.metadata import bookie, formats_pb2, layout, ledger

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(ledger.__file__).parent.parent / "vectors" / "metadata.json").read_text()
)


def of(spec: str) -> list[Any]:
    return [pytest.param(each, id=each["name"]) for each in VECTORS if each["spec"] == spec]


@pytest.mark.parametrize("vector", of("metadata/ledger.RECORD"))
def test_ledger_record(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    parts = ledger.RECORD.parse(data)
    assert int(parts.format_version) == vector["fields"]["format_version"]
    assert ledger.RECORD.build({"format_version": parts.format_version, "body": parts.body}) == data


@pytest.mark.parametrize("vector", of("metadata/layout.LAYOUT_RECORD"))
def test_layout_record(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    parts = layout.LAYOUT_RECORD.parse(data)
    assert parts.factory_class.decode() == vector["fields"]["factory_class"]
    assert parts.factory_class == layout.FACTORY_CLASS_OF["hierarchical"]
    assert parts.manager_version == layout.MANAGER_VERSION
    assert layout.LAYOUT_RECORD.build(parts) == data


@pytest.mark.parametrize("vector", of("metadata/formats.BookieServiceInfo"))
def test_bookie_service_info(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    message = formats_pb2.BookieServiceInfo.FromString(data)
    for endpoint, expected in zip(message.endpoints, vector["fields"]["endpoints"], strict=True):
        assert {name: getattr(endpoint, name) for name in expected} == expected
    assert message.SerializeToString() == data


@pytest.mark.parametrize("data", [b"", b"BookieMetadataFormatVersion 3\n", b"BookieMetadataFormatVersion\t3"])
def test_a_record_without_its_first_line_is_refused(data: bytes) -> None:
    with pytest.raises(ConstructError):
        ledger.RECORD.parse(data)


@pytest.mark.parametrize("bookie_id", ["10.0.0.1:3181", "a", "bookie-1.example:3181", "a_b", "x^@;"])
def test_allowed_bookie_ids(bookie_id: str) -> None:
    assert bookie.BOOKIE_ID.fullmatch(bookie_id)


@pytest.mark.parametrize("bookie_id", ["", "a/b", "a b", "a\n", "ü", "a,b", "{a}"])
def test_refused_bookie_ids(bookie_id: str) -> None:
    assert not bookie.BOOKIE_ID.fullmatch(bookie_id)

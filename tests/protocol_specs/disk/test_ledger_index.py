from typing import Any

import construct
import pytest

from protocol_specs import vectors
from protocol_specs.disk import ledger_index

VECTORS = [vector for vector in vectors.load("disk") if vector["spec"] == "disk/ledger_index.HEADER"]


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    parsed = ledger_index.HEADER.parse(data)
    assert {name: _plain(parsed[name]) for name in vector["fields"]} == vector["fields"]
    assert ledger_index.HEADER.build(parsed) == data
    assert ledger_index.HEADER.parse(data.ljust(ledger_index.HEADER_SIZE, b"\0")) == parsed


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_every_truncation_is_refused(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    for end in range(len(data)):
        with pytest.raises(construct.ConstructError):
            ledger_index.HEADER.parse(data[:end])


def test_there_are_vectors() -> None:
    assert len(VECTORS) == 3


def test_a_page_is_8_kib_of_big_endian_locations() -> None:
    page = ledger_index.PAGE.build([0x0000000300000404] + [0] * 1023)
    assert page == bytes.fromhex("0000000300000404").ljust(8192, b"\0")

from typing import Any

import construct
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import codecs, vectors
from protocol_specs.disk import entry_log
from tests.protocol_specs import declared

VECTORS = [vector for vector in vectors.load("disk") if vector["spec"].startswith("disk/entry_log.")]
LEDGERS_MAP = ("LEDGERS_MAP_HEAD", "LEDGERS_MAP_ROW", "SCOPED_LEDGERS_MAP_HEAD", "SCOPED_LEDGERS_MAP_ROW")
CODECS = [codecs.derive(name, getattr(entry_log, name)) for name in ("HEADER", *LEDGERS_MAP)]


def _plain(value: Any) -> Any:
    if isinstance(value, construct.ListContainer):
        return [{name: field for name, field in each.items() if name != "_io"} for each in value]
    return value.hex() if isinstance(value, bytes) else value


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    declaration = getattr(entry_log, vector["spec"].partition(".")[2])
    data = bytes.fromhex(vector["hex"])
    parsed = declaration.parse(data)
    assert {name: _plain(parsed[name]) for name in vector["fields"]} == vector["fields"]
    assert declaration.build(parsed) == data


def test_every_declaration_has_a_vector() -> None:
    declarations = {"HEADER", "LEDGERS_MAP_BATCH", "SCOPED_LEDGERS_MAP_BATCH", "LOCATION"}
    assert {vector["spec"].partition(".")[2] for vector in VECTORS} == declarations


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
@given(data=st.data())
def test_derived_and_interpreted_agree(codec: codecs.Codec, data: st.DataObject) -> None:
    message = data.draw(declared.messages(codec))
    assert declared.derived(codec, message) == declared.interpreted(codec, message) is not None
    for end in range(len(message)):
        assert declared.derived(codec, message[:end]) == declared.interpreted(codec, message[:end])

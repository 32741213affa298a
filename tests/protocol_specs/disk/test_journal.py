from typing import Any

import construct
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import codecs, vectors
from protocol_specs.disk import journal, last_mark, meta_entries
from tests.protocol_specs import declared

SPECS = {
    f"disk/{module}.{name}": struct
    for module, names in (
        ("journal", vars(journal)),
        ("meta_entries", vars(meta_entries)),
        ("last_mark", vars(last_mark)),
    )
    for name, struct in names.items()
    if isinstance(struct, construct.Struct)
}
VECTORS = [vector for vector in vectors.load("disk") if vector["spec"] in SPECS]
CODECS = [
    codecs.derive(name, SPECS[name])
    for name in (
        "disk/journal.RECORD",
        "disk/journal.SCOPED_RECORD",
        "disk/journal.PAD_HEADER",
        "disk/journal.SEAL_PAD",
        "disk/meta_entries.FENCE_RECORD",
        "disk/meta_entries.BLOB_RECORD",
        "disk/meta_entries.SCOPED_FENCE_RECORD",
        "disk/meta_entries.SCOPED_BLOB_RECORD",
        "disk/last_mark.LAST_MARK",
    )
]


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    declaration, data = SPECS[vector["spec"]], bytes.fromhex(vector["hex"])
    parsed = declaration.parse(data)
    assert {name: _plain(parsed[name]) for name in vector["fields"]} == vector["fields"]
    assert declaration.build(parsed) == data


def test_every_kind_of_record_has_a_vector() -> None:
    assert {vector["spec"] for vector in VECTORS} >= {codec.name for codec in CODECS} - {"disk/journal.PAD_HEADER"}


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
@given(data=st.data())
def test_derived_and_interpreted_agree(codec: codecs.Codec, data: st.DataObject) -> None:
    message = data.draw(declared.messages(codec))
    assert declared.derived(codec, message) == declared.interpreted(codec, message) is not None
    for end in range(len(message)):
        assert declared.derived(codec, message[:end]) == declared.interpreted(codec, message[:end])


@given(st.integers(0, 2**40))
def test_a_seal_fits_and_ends_at_the_alignment(position: int) -> None:
    size = journal.seal_pad_size(position)
    assert (position + size) % journal.ALIGNMENT == 0
    assert journal.SEAL_PAD_SIZE <= size < journal.SEAL_PAD_SIZE + journal.ALIGNMENT


@pytest.mark.parametrize(("position", "size"), [(605, 419), (512, 512), (1024 - 36, 36), (1024 - 35, 547), (1023, 513)])
def test_size_of_the_pad_behind_a_group(position: int, size: int) -> None:
    assert journal.seal_pad_size(position) == size

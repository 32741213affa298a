"""The format of an entry, told by its first byte."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import vectors
from protocol_specs.codecs import Malformed
from protocol_specs.entry import digest, v1, v2, version
from protocol_specs.ledger_id import join

SCOPED = join(-3, 2**63 - 1)
V1_ENTRY = v1.ENTRY.build(
    {"ledger_id": 7, "entry_id": 2, "last_add_confirmed": 1, "length": 9, "digest_and_payload": b"rest"}
)
V2_ENTRY = v2.ENTRY.build(
    {
        "flags": 0xA3,
        "ledger_scope_id": -3,
        "ledger_id": 2**63 - 1,
        "entry_id": 2,
        "last_add_confirmed": 1,
        "length": 9,
        "digest_and_payload": b"rest",
    }
)
READERS: list[Callable[[bytes], Any]] = [
    version.is_v2,
    version.ids_of,
    version.metadata_of,
    version.metadata_size,
    version.explicit_lac_of,
]


def test_both_formats_are_read() -> None:
    assert not version.is_v2(V1_ENTRY)
    assert version.is_v2(V2_ENTRY)
    assert version.ids_of(V1_ENTRY) == (7, 2)
    assert version.ids_of(V2_ENTRY[:25]) == (SCOPED, 2)
    assert version.metadata_of(V1_ENTRY) == (7, 2, 1, 9)
    assert version.metadata_of(V2_ENTRY) == (SCOPED, 2, 1, 9)
    assert (version.metadata_size(V1_ENTRY), version.metadata_size(V2_ENTRY)) == (32, 41)
    assert version.explicit_lac_of(V1_ENTRY[:16]) == (7, 2)
    assert version.explicit_lac_of(V2_ENTRY[:25] + b"digest") == (SCOPED, 2)


def test_the_flags_of_every_digest_type() -> None:
    assert [v2.flags_of(each.number) for each in digest.DIGESTS] == [0xA1, 0xA2, 0xA3, 0xA4]
    assert v2.flags_of(v2.NO_DIGEST) == 0xA0


@given(first=st.integers(0, 255))
def test_other_versions_are_refused(first: int) -> None:
    entry = bytes([first]) + V2_ENTRY[1:]
    if first < 0x80:
        assert not version.is_v2(entry)
    elif 0xA0 <= first <= 0xAF:
        assert version.ids_of(entry) == (SCOPED, 2)
    else:
        for reader in READERS:
            with pytest.raises(Malformed, match=f"first byte {first:#04x}"):
                reader(entry)


def test_scope_0_has_no_format_v2() -> None:
    entry = V2_ENTRY[:1] + bytes(8) + V2_ENTRY[9:]
    for reader in (version.ids_of, version.metadata_of, version.explicit_lac_of):
        with pytest.raises(Malformed, match=r"scope 0.*field ledger_scope_id, offset 1"):
            reader(entry)


@pytest.mark.parametrize(
    ("reader", "v1_size", "v2_size"),
    [(version.is_v2, 1, 1), (version.ids_of, 16, 25), (version.metadata_of, 32, 41), (version.explicit_lac_of, 16, 25)],
)
def test_what_is_too_short_is_refused(reader: Callable[[bytes], Any], v1_size: int, v2_size: int) -> None:
    for entry, size in ((V1_ENTRY, v1_size), (V2_ENTRY, v2_size)):
        reader(entry[:size])
        for short in range(size):
            with pytest.raises(Malformed):
                reader(entry[:short])


def test_every_entry_vector() -> None:
    for vector in vectors.load("entry"):
        data, fields = bytes.fromhex(vector["hex"]), vector["fields"]
        ids = join(fields.get("ledger_scope_id", 0), fields["ledger_id"]) if "ledger_id" in fields else 0
        if vector["spec"] in ("entry/v1.ENTRY", "entry/v2.ENTRY"):
            numbers = [fields[name] for name in ("entry_id", "last_add_confirmed", "length")]
            assert version.metadata_of(data) == (ids, *numbers)
            assert version.is_v2(data) == ("flags" in fields)
        elif vector["spec"].endswith(".LAC_METADATA"):
            assert version.explicit_lac_of(data) == (ids, fields["last_add_confirmed"])

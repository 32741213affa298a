"""What verifies the vectors finds what is wrong with one; and nothing is wrong with those that we have."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.entry.digest import CRC32, CRC32C, DUMMY, compute
from protocol_specs.vectors import coverage
from protocol_specs.vectors.cases import FILES, Case, all_cases, all_of_file
from protocol_specs.vectors.verify import problems

CASES = all_cases()
MAP, INFO = "disk/entry_log.LEDGERS_MAP_BATCH", "metadata/formats.BookieServiceInfo"
BY_SPEC = {case.spec: case for case in CASES}


@pytest.mark.parametrize("file", FILES)
def test_the_vectors_are_right(file: str) -> None:
    found = list(all_of_file(file))
    assert found
    assert [(str(case), problem) for case in found for problem in problems(case)] == []


def test_names_are_not_used_twice() -> None:
    names = [(case.file, case.name) for case in CASES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("spec", BY_SPEC)
def test_a_wrong_field_is_found(spec: str) -> None:
    case = BY_SPEC[spec]
    for name, value in case.fields.items():
        if name == "password" and case.fields.get("digest_type") not in ("HMAC", None):
            continue  # the other digests have nothing to do with it
        assert problems(case._replace(fields={**case.fields, name: _another(value)})), name


def _another(value: Any) -> Any:
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return "ff" + value
    return "something else"


@given(st.sampled_from(CASES), st.data())
def test_a_changed_byte_is_found(case: Case, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(case.data) - 1))
    changed = bytearray(case.data)
    changed[at] ^= data.draw(st.integers(1, 255))
    if _is_looked_at(case, at):
        assert problems(case._replace(data=bytes(changed)))


def _is_looked_at(case: Case, at: int) -> bool:
    """Tell whether a byte says anything: not in what follows a message, and in form 1 only the first numbers do."""
    if case.spec in ("metadata/ledger.RECORD", "disk/cookie"):
        return False
    return not (case.spec.startswith("wire/v2.") and case.fields.get("master_key", "") is None and at >= 24)


@pytest.mark.parametrize("spec", [spec for spec in BY_SPEC if not spec.startswith("metadata/ledger")])
def test_bytes_that_are_missing_are_found(spec: str) -> None:
    case = BY_SPEC[spec]
    assert problems(case._replace(data=case.data[:-1]))


def test_a_vector_says_where_it_comes_from() -> None:
    assert problems(CASES[0]._replace(provenance="")) == ["it does not say where it comes from"]


def test_an_unknown_declaration_is_found() -> None:
    (problem,) = problems(CASES[0]._replace(spec="wire/v2.NOTHING"))
    assert "declared nowhere" in problem


def test_digests_have_their_published_check_values() -> None:
    assert compute(CRC32, b"", b"123456789").hex() == "00000000cbf43926"
    assert compute(CRC32C, b"", b"123456789").hex() == "e3069283"
    assert compute(DUMMY, b"", b"123456789") == b""


# Coverage ------------------------------------------------------------------------------------------------------------


def test_every_declaration_and_every_field_has_a_vector() -> None:
    assert coverage.uncovered(CASES) == []
    assert coverage.unset_fields(CASES) == []


@pytest.mark.parametrize(
    ("left_out", "missing"),
    [
        ("wire/v2.READ_REPLY_FRAME", ["wire/v2.READ_REPLY", "wire/v2.READ_REPLY_FRAME"]),
        ("disk/last_mark.LAST_MARK", ["disk/last_mark.LAST_MARK"]),
        ("disk/entry_log.LOCATION", ["disk/entry_log.LOCATION", "disk/ledger_index.PAGE"]),
        (
            "disk/entry_log.LEDGERS_MAP_BATCH",
            ["disk/entry_log.LEDGERS_MAP_HEAD", MAP],
        ),
        (
            "metadata/formats.BookieServiceInfo",
            [INFO, f"{INFO}.Endpoint"],
        ),
    ],
)
def test_what_has_no_vector_is_found(left_out: str, missing: list[str]) -> None:
    assert coverage.uncovered(case for case in CASES if case.spec != left_out) == missing


def test_a_field_that_is_set_nowhere_is_found() -> None:
    cases = [case for case in CASES if "context" not in case.name]
    assert "bookkeeper_tx.wire.Request.request_context" in coverage.unset_fields(cases)

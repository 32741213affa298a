"""The records of logs: what is no JSON of this format is refused."""

import pytest

from bookkeeper_tx.replicated_log.json_record import packed, unpacked


def test_parts_come_back_and_the_format_is_first() -> None:
    record = packed({"b": 1, "a": [2]})
    assert record == b'{"format":1,"b":1,"a":[2]}'
    assert unpacked(record) == {"b": 1, "a": [2]}


@pytest.mark.parametrize("record", [b"", b"{", b"\xff"])
def test_what_is_no_json_is_refused(record: bytes) -> None:
    with pytest.raises(ValueError, match=r"Expecting|decode"):
        unpacked(record)


@pytest.mark.parametrize("record", [b"7", b"[1]", b'"format"'])
def test_what_is_no_object_is_refused(record: bytes) -> None:
    with pytest.raises(ValueError, match="it is no JSON object"):
        unpacked(record)


def test_another_format_is_named() -> None:
    with pytest.raises(ValueError, match="it has format 2, this program knows 1"):
        unpacked(b'{"format":2}')


def test_a_record_without_a_format_is_refused() -> None:
    with pytest.raises(KeyError):
        unpacked(b"{}")

"""The corpus is what its recipes and checksums say, and a stranger can read it by its README alone."""

import json
from hashlib import sha256

import pytest

from compat_tests.corpus import invalid_input, make
from compat_tests.corpus.invalid_input import CorpusDamaged, class_names, load
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import STATUSES

STATUS_NAMES = {status.name for status in STATUSES}
EVERY_INPUT = [each for name in class_names() for each in load(name)]


def test_the_files_are_what_the_recipes_say() -> None:
    assert make.main(["--check"]) == 0


def test_every_class_has_a_file_and_every_file_a_class() -> None:
    assert sorted(each.name for each in make.CLASSES) == class_names()


def test_there_are_many_and_each_has_a_name_of_its_own() -> None:
    names = [each.name for each in EVERY_INPUT]
    assert len(names) == len(set(names)) >= 60


@pytest.mark.parametrize("entry", EVERY_INPUT, ids=lambda each: each.name)
def test_what_is_expected_can_be_judged(entry: invalid_input.InvalidInput) -> None:
    assert entry.connection in ("closed", "open", "waits", "any")
    assert (entry.status in STATUS_NAMES) == (entry.connection == "open")
    assert entry.dialect in ("V2", "V3", "any")
    assert entry.streams
    assert all(entry.streams)


@pytest.mark.parametrize("class_name", [name for name in class_names() if name.startswith("v")])
def test_lengths_are_true_where_they_are_not_the_point(class_name: str) -> None:
    for entry in load(class_name):
        assert all(int.from_bytes(stream[:4], "big") == len(stream) - 4 for stream in entry.streams), entry.name


@pytest.mark.parametrize(
    "entry",
    [each for each in EVERY_INPUT if each.dialect == "V3" and each.connection != "any"],
    ids=lambda each: each.name,
)
def test_a_frame_is_v3_where_it_is_to_be_answered_and_none_where_it_is_to_be_closed_on(
    entry: invalid_input.InvalidInput,
) -> None:
    assert {_is_v3(stream[4:]) for stream in entry.streams} == {entry.connection != "closed"}


def test_a_changed_input_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    content = json.loads((invalid_input.DIRECTORY / "lengths.json").read_text())
    content["inputs"][0]["streams"]["hex"] += "00"
    (tmp_path / "changed.json").write_text(json.dumps(content))
    monkeypatch.setattr(invalid_input, "DIRECTORY", tmp_path)
    with pytest.raises(CorpusDamaged, match="length-0"):
        load("changed")


def test_prefixes_have_lengths_of_their_own() -> None:
    rule = {"prefixes": {"of": "0a0b0c", "lengths": [0, 3], "except": [2]}}
    streams = tuple(invalid_input.streams_of(rule))
    assert streams == (b"\0\0\0\0", b"\0\0\0\1\x0a", b"\0\0\0\3\x0a\x0b\x0c")
    assert invalid_input.checksum(streams) == sha256(b"".join(streams)).hexdigest()


def _is_v3(body: bytes) -> bool:
    message = v3_pb2.Request()
    try:
        message.ParseFromString(body)
    except Exception:
        return False
    return message.IsInitialized()

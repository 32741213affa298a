"""The ``.ksy`` files are what the declarations say, and what is written is YAML."""

from pathlib import Path

import construct
import pytest

from protocol_specs.kaitai import generate, yaml
from protocol_specs.kaitai.types import type_of
from protocol_specs.wire import v2


def test_the_files_are_fresh() -> None:
    assert generate.stale() == []
    assert generate.main(["--check"]) == 0


def test_stale_missing_and_left_over_files_are_named(tmp_path: Path) -> None:
    names = list(generate.files())
    (tmp_path / names[0]).write_text("old")
    (tmp_path / "old.ksy").write_text("old")
    for name in names[2:]:
        (tmp_path / name).write_text(generate.files()[name])
    assert generate.stale(tmp_path) == [
        f"{names[0]} is not what its declarations say",
        f"{names[1]} is missing",
        "old.ksy is made by nothing",
    ]


def test_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(generate, "ROOM", tmp_path)
    assert generate.main([]) == 0
    assert capsys.readouterr().out.split() == list(generate.files())
    assert generate.stale(tmp_path) == []
    assert generate.main(["nonsense"]) == 2


def test_fields_keep_their_order_types_and_meaning() -> None:
    made = type_of(v2.READ_REQUEST.subcons)
    assert made["seq"][:2] == [
        {"id": "header", "type": "u4", "doc": "operation 2; flags 1 fencing, 4 high priority"},
        {"id": "ledger_id", "type": "s8", "doc": "the ledger"},
    ]
    assert made["seq"][3]["size"] == 20
    assert made["seq"][3]["if"] == "has_key"


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(TypeError, match="no form in Kaitai Struct"):
        type_of(construct.Struct("a" / construct.CString("ascii")).subcons)


def test_yaml() -> None:
    value = {"a": 1, "b-c": ["x", "no", -2, {"k": True, "deep": {"l": []}}], "text": 'a: "b" #c', 7: "seven"}
    assert yaml.write(value) == (
        'a: 1\nb-c:\n  - x\n  - "no"\n  - -2\n  - k: true\n    deep:\n      l: []\ntext: "a: \\"b\\" #c"\n7: seven\n'
    )

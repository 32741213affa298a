"""``python -m protocol_specs check``: what it counts, and that it fails for each thing that is wrong."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from protocol_specs import check, document
from protocol_specs.kaitai import generate
from protocol_specs.vectors.cases import all_cases

NAMES = ["codecs", "vectors", "coverage", ".ksy", "docs"]


def test_groups_have_a_line_each(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert check.main(tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert f"{len(all_cases())} messages" in lines[1]
    assert [line.split()[1] for line in lines] == ["ok"] * 4 + ["-"]
    assert lines[-1].endswith("not checked: this is no checkout, there are no docs here")


def test_what_is_wrong_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    case: Any = all_cases()[0]
    damaged = case._replace(data=case.data[:-1] + bytes([case.data[-1] ^ 1]))
    monkeypatch.setattr(check, "all_cases", lambda: [damaged, *all_cases()[1:]])
    assert check.main(tmp_path) == 1
    out = capsys.readouterr().out
    assert "vectors    WRONG" in out
    assert case.name in out


def test_a_declaration_without_a_vector_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cases = [case for case in all_cases() if case.spec != "disk/last_mark.LAST_MARK"]
    monkeypatch.setattr(check, "all_cases", lambda: cases)
    assert check.main(tmp_path) == 1
    out = capsys.readouterr().out
    assert "disk/last_mark.LAST_MARK has no vector" in out
    assert "protocol_specs/vectors" in out


def test_stale_files_are_named_and_how_to_make_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(generate, "stale", lambda: ["x.ksy is missing"])
    monkeypatch.setattr(document, "stale", lambda root: ["docs/protocol/v2.md is not what its declarations say"])
    assert check.main(tmp_path) == 1
    out = capsys.readouterr().out
    assert "x.ksy is missing" in out
    assert "python -m protocol_specs.kaitai.generate" in out
    assert "docs/protocol/v2.md is not" in out
    assert "python -m protocol_specs.document" in out


def test_a_codec_of_another_layout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = check.codecs.derive

    def shifted(name: str, declaration: Any) -> Any:
        codec = real(name, declaration)
        codec.offsets = {field: at + 1 for field, at in codec.offsets.items()}
        return codec

    monkeypatch.setattr(check.codecs, "derive", shifted)
    assert any("the codec has it at 1, the declaration at 0" in line for line in check.groups(Path())[0].wrong)


@pytest.mark.parametrize(("arguments", "code"), [((), 2), (("frobnicate",), 2)])
def test_wrong_usage(arguments: tuple[str, ...], code: int) -> None:
    command = [sys.executable, "-m", "protocol_specs", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (code, "usage: python -m protocol_specs check\n")


def test_it_runs() -> None:
    command = [sys.executable, "-m", "protocol_specs", "check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert [line.split()[0] for line in done.stdout.splitlines() if line[:1].strip()] == NAMES
    assert done.stderr == ""

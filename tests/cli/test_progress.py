"""The progress of a long command."""

import pytest

from bookkeeper_tx.cli.progress import progress


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(lambda: "1 of 2") as advance:
        advance()
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress(lambda: "1 of 2") as advance:
        advance()
    assert "1 of 2" in capsys.readouterr().err

"""The pages that are made of the suite."""

from pathlib import Path

import pytest

from compat_tests.judge import known
from compat_tests.report import pages, publish
from compat_tests.report.docs_sections import sections_of
from compat_tests.report.markdown import cell, summary, write_markdown
from compat_tests.report.mutants import Mutant, Mutants
from compat_tests.report.sections import section, sections
from tests.compat_tests.report.sample import case, every_verdict, run

ROOT = Path(__file__).parent.parent.parent.parent


def test_the_pages_are_up_to_date() -> None:
    assert pages.stale(ROOT) == []


def test_every_case_is_of_a_section_that_exists() -> None:
    labels = {each.label for each in sections_of(ROOT / "docs")}
    assert [case.id for case in pages.published_cases() if case.section not in labels] == []


def test_every_divergence_is_of_a_case_that_exists() -> None:
    ids = {case.id for case in pages.published_cases()}
    names = [folder.name for folder in known.FOLDER.iterdir() if folder.is_dir()]
    assert [each.case for name in names for each in known.of_implementation(name) if each.case not in ids] == []


def test_every_case_and_section_is_on_a_page() -> None:
    found = pages.fresh(ROOT)
    text = {path.stem: text for path, text in found.items()}
    for each in pages.published_cases():
        assert f"| {each.id}" in text["cases"]
    assert {each.label for each in sections_of(ROOT / "docs")} == set(sections())


def test_what_is_stale_or_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# x\n", encoding="utf-8")
    assert len(pages.write(tmp_path)) == 5
    assert pages.stale(tmp_path) == []
    (tmp_path / "docs/conformance/cases.md").write_text("", encoding="utf-8")
    (tmp_path / "docs/conformance/matrix.md").unlink()
    assert sorted(pages.stale(tmp_path)) == [
        "docs/conformance/cases.md is not what the suite says",
        "docs/conformance/matrix.md is missing",
    ]


def test_the_command_takes_one_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert pages.main(["--chekc"]) == 2
    assert "usage" in capsys.readouterr().err


def test_a_section_knows_where_it_stands() -> None:
    assert section("sec-read-entry-v2").link("https://docs.example/") == (
        "https://docs.example/protocol/read-entry.html#sec-read-entry-v2"
    )
    assert section("sec-read-entry-v2").link("") == ""
    assert section("nowhere").text == "nowhere"
    assert section("nowhere").link("..") == ""


# The matrix ----------------------------------------------------------------------------------------------------------


def test_published_runs_become_a_table(tmp_path: Path) -> None:
    runs = [every_verdict(), run([], [case(1)], "Java 4.18.0", not_checked="no JVM")]
    publish.publish(runs, tmp_path / publish.FOLDER)
    (tmp_path / "docs" / "index.md").write_text("# x\n", encoding="utf-8")
    text = pages.fresh(tmp_path)[tmp_path / "docs/conformance/matrix.md"]
    assert "as of 2026-01-02." in text
    assert "| bookie | ours | 1 | 1 | 1 |" in text
    assert "not checked: no JVM" in text
    assert publish.PAGE in text
    assert "exchange" not in (tmp_path / publish.FOLDER / publish.RUNS).read_text().replace('"exchange": []', "")


def test_who_watches_the_watchman_is_told(tmp_path: Path) -> None:
    found = Mutant("a", "bookie", "It is broken.", "by hand", ("BKW-READ-003",))
    lost = Mutant("b", "bookie", "It is broken elsewhere.", "by hand", ())
    publish.publish([every_verdict()], tmp_path / publish.FOLDER, Mutants((found, lost), ("BKW-READ-001",), full=True))
    (tmp_path / "docs" / "index.md").write_text("# x\n", encoding="utf-8")
    text = pages.fresh(tmp_path)[tmp_path / "docs/conformance/matrix.md"]
    assert "1 of 2 deliberate defects" in text
    assert "| b | It is broken elsewhere. |" in text
    assert "Cases that find none of them (1): BKW-READ-001." in text


@pytest.mark.parametrize("arguments", [[], ["--html"], ["none.json"], ["--mutants", "x"]])
def test_publishing_nothing_says_how(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert publish.main(arguments) == 2
    assert capsys.readouterr().err


def test_a_summary_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    write_markdown([every_verdict()], path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert "| ours | BKW-READ-003 V2 | ✗ fail | the reply to the read: expected ENOENTRY, seen EIO |" in text


def test_cells_hold_what_they_are_given() -> None:
    assert cell("a|b\n<c> *d* [e]") == "a\\|b &lt;c> \\*d\\* \\[e]"
    assert summary([]).startswith("# BookKeeper conformance")

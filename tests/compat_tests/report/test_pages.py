"""The pages that are made of the suite."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_tests.judge import divergences
from compat_tests.judge.result import describe
from compat_tests.judge.verdict import Verdict
from compat_tests.report import pages, publish
from compat_tests.report.docs_sections import sections_of
from compat_tests.report.markdown import cell, summary, write_markdown
from compat_tests.report.mutants import Mutant, Mutants
from compat_tests.report.published import RUNS
from compat_tests.report.sections import section, sections
from tests.compat_tests.report.sample import case, every_verdict, result, run

ROOT = Path(__file__).parent.parent.parent.parent


def test_the_pages_are_up_to_date() -> None:
    assert pages.stale(ROOT) == []


def test_every_case_is_of_a_section_that_exists() -> None:
    labels = {each.label for each in sections_of(ROOT / "docs")}
    assert [case.id for case in pages.published_cases() if case.section not in labels] == []


def test_every_divergence_is_of_a_case_that_exists() -> None:
    ids = {case.id for case in pages.published_cases()}
    names = [folder.name for folder in divergences.FOLDER.iterdir() if folder.is_dir()]
    assert [each.case for name in names for each in divergences.of_implementation(name) if each.case not in ids] == []


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


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[..., str]:
    """A function that publishes, and returns the page."""

    def page_of(*published: Any) -> str:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "index.md").write_text("# x\n", encoding="utf-8")
        publish.publish(*published[:1], tmp_path, *published[1:])
        return pages.fresh(tmp_path)[tmp_path / "docs/conformance/matrix.md"]

    return page_of


def test_published_runs_become_a_table(page_of: Callable[..., str]) -> None:
    text = page_of([every_verdict(), run([], [case(1)], "Java 4.18.0", not_checked="no JVM")])
    assert "as of 2026-01-02." in text
    assert "| bookie | ours | 1 | 1 | 1 |" in text
    assert "not checked: no JVM" in text
    assert f"]({RUNS.name})" in text


def test_changes_of_the_suite_since_the_runs_are_counted(page_of: Callable[..., str]) -> None:
    now = [describe(each) for each in pages.published_cases()]
    cases = [{**now[0], "requirement": "A bookie MAY."}, case(1, "GONE"), case(2, "GONE"), *now[2:]]
    text = page_of([run([result(each["id"], Verdict.PASS) for each in cases], cases)])
    assert "Since then 1 case got another text, 1 case came into the suite, 2 cases left it." in text


def test_a_suite_that_is_that_of_the_runs_is_not_said_to_have_changed(page_of: Callable[..., str]) -> None:
    cases = [describe(each) for each in pages.published_cases()]
    assert "Since then" not in page_of([run([result(each["id"], Verdict.PASS) for each in cases], cases)])


def test_the_page_of_the_matrix_counts_the_mutants(page_of: Callable[..., str]) -> None:
    found = Mutant("a", "bookie", "It is broken.", "by hand", ("BKW-READ-003",))
    lost = Mutant("b", "bookie", "It is broken elsewhere.", "by hand", ())
    text = page_of([every_verdict()], Mutants((found, lost), ("BKW-READ-001",), full=True))
    assert "1 of 2 deliberate defects" in text
    assert "| b | It is broken elsewhere. |" in text
    assert "Cases that find none of them (1): BKW-READ-001." in text


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

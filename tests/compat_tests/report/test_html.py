"""The page with all runs."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from attrs import evolve

from compat_tests.judge.recording import SUITE, Event
from compat_tests.judge.verdict import Verdict
from compat_tests.report.html import page, write_html
from compat_tests.report.matrix import LINES_OF_THE_REST, difference, matrices
from compat_tests.report.mutants import Mutant, Mutants
from compat_tests.report.verdict_style import STYLES
from tests.compat_tests.report.sample import EXCHANGES, case, every_verdict, exchange, result, run

VOID = {"meta", "link", "input", "br", "img"}


class Balance(HTMLParser):
    """Checks that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.links += [str(found[name]) for name in ("href", "src") if name in found]
        self.ids += [str(found["id"])] if "id" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parse(text: str) -> Balance:
    parser = Balance()
    parser.feed(text)
    assert parser.open == []
    return parser


MUTANTS = Mutants(
    [
        Mutant("wrong_length", "bookie", "a length is one too small", "by hand", ("BKW-READ-001",)),
        Mutant("lac_not_clipped", "client", "reads go on", "table", ()),
    ],
    ("BKW-ADD-002",),
)


def test_the_page_needs_nothing_else() -> None:
    text = page([every_verdict(), every_verdict("Java 4.18.0")], MUTANTS, "../docs")
    found = parse(text)
    assert {link for link in found.links if not link.startswith(("#", "../docs/"))} == set()
    assert not re.search(r"@import|url\(|<link|<img|src=", text)
    assert len(found.ids) == len(set(found.ids))
    assert "../docs/protocol/read-entry.html#sec-read-entry-states" in found.links
    inside = {link[1:] for link in found.links if link.startswith("#")}
    assert inside <= set(found.ids)


def test_every_verdict_has_its_colour_sign_and_word() -> None:
    text = page([every_verdict()])
    for verdict, look in STYLES.items():
        assert f'<span class="v {verdict}">{look.sign} {look.word.lower()}</span>' in text
    css = Path(page.__code__.co_filename).with_name("templates") / "matrix.css"
    assert all(f".v.{verdict}" in css.read_text(encoding="utf-8") for verdict in Verdict)


def test_each_count_says_what_it_counts() -> None:
    """On a phone the counts of a target stand below its name, without the heads of the columns."""
    text = page([every_verdict()])
    for verdict, look in STYLES.items():
        assert f'<td class="{verdict}" data-label="{look.sign} {look.word.lower()}">1</td>' in text


def test_what_a_target_says_is_no_markup() -> None:
    odd = result("BKW-READ-001", Verdict.FAIL, message="<script>alert(1)</script>", seen="</pre><b>", expected='"&')
    text = page([run([odd], [case(1, title="<i>")], "<b>", not_checked=None)])
    parse(text)
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_missing_bytes_and_other_texts_are_named() -> None:
    assert "the bytes are not shown" not in page([every_verdict()])
    bare = page([every_verdict().without_exchanges()])
    parse(bare)
    assert "the bytes are not shown" in bare
    remarked = page([run([result("BKW-READ-001", Verdict.PASS)], [case(1, remark="Its text has changed.")])])
    assert '<p class="remark">Its text has changed.</p>' in remarked
    assert 'class="remark"' not in bare


def test_a_target_that_was_not_there_says_why() -> None:
    text = page([every_verdict(), run([], [], "Java 4.18.0", not_checked="there is no JVM: set JAVA_HOME")])
    assert "there is no JVM: set JAVA_HOME" in text
    (matrix,) = matrices([every_verdict(), run([], [], "Java 4.18.0", not_checked="no JVM")])
    assert matrix.areas["READ"][0].cells[1].worst is Verdict.NOT_CHECKED


def test_the_same_outcome_is_shown_once() -> None:
    runs = [run([result("BKW-READ-001", Verdict.PASS)], [case(1)], name) for name in ("ours", "a", "b")]
    runs.append(run([result("BKW-READ-001", Verdict.FAIL)], [case(1)], "c"))
    (matrix,) = matrices(runs)
    (row,) = matrix.areas["READ"]
    assert [(each.verdict, each.targets) for each in row.outcomes] == [
        (Verdict.FAIL, ("c",)),
        (Verdict.PASS, ("ours", "a", "b")),
    ]


def test_both_roles_stand_on_one_page() -> None:
    client = run([result("BKW-CLIENT-001", Verdict.PASS, "")], [case(1, "CLIENT", role="client")], role="client")
    assert [matrix.role for matrix in matrices([client, every_verdict()])] == ["bookie", "client"]
    parse(page([client, every_verdict()]))


def test_verdicts_of_both_dialects_are_one_if_they_agree() -> None:
    results = [result("BKW-READ-001", Verdict.PASS, "V2"), result("BKW-READ-001", Verdict.PASS, "V3")]
    results += [result("BKW-READ-002", Verdict.PASS, "V2"), result("BKW-READ-002", Verdict.FAIL, "V3")]
    (matrix,) = matrices([run(results, [case(1), case(2)])])
    cells = [row.cells[0] for row in matrix.areas["READ"]]
    assert cells[0].verdicts == (("", Verdict.PASS),)
    assert cells[1].worst is Verdict.FAIL
    assert dict(matrix.columns[0].counts)[Verdict.PASS] == 1


@pytest.mark.slow
def test_a_long_exchange_is_cut_at_its_beginning() -> None:
    events = [Event(number, "main", SUITE, bytes.fromhex("0000000402630000")) for number in range(1)]
    events += exchange(*EXCHANGES * 20)
    long = run([result("BKW-READ-001", Verdict.FAIL, exchange=events)], [case(1)])
    (matrix,) = matrices([long])
    (outcome,) = matrix.areas["READ"][0].outcomes
    assert outcome.left_out > 0
    assert sum(1 + len(shown.rows) for shown in outcome.exchange) <= LINES_OF_THE_REST
    assert "frames before these" in page([long])


@pytest.mark.slow
def test_six_targets_with_300_cases_stay_small(tmp_path: Path) -> None:
    cases = [case(number, area) for number in range(1, 31) for area in ("ADD", "READ", "LAC", "POLL", "FENCE")]
    cases += [case(number, area) for number in range(1, 31) for area in ("LIST", "INFO", "AUTH", "TLS", "BATCH")]
    runs = []
    for target in range(6):
        results = [
            result(each["id"], Verdict.PASS, dialect, exchange=exchange(*EXCHANGES[:3], offset_s=target))
            for each in cases
            for dialect in ("V2", "V3")
        ]
        runs.append(run(results, cases, f"Java 4.{target}.0"))
    write_html(runs, tmp_path / "matrix.html")
    assert (tmp_path / "matrix.html").stat().st_size < 5_000_000


@pytest.mark.parametrize(
    ("expected", "seen", "left", "right"),
    [
        ("ENOENTRY", "EIO", [("ENOENTRY", True)], [("EIO", True)]),
        ("status EOK, entry 1", "status EOK, entry 2", [("status EOK, entry", False), ("1", True)], None),
        ("", "silence", [], [("silence", True)]),
    ],
)
def test_the_difference_is_marked(expected: str, seen: str, left: object, right: object) -> None:
    found = difference(expected, seen)
    assert found[0] == left or (left == [] and found[0] == [("", True)])
    assert right is None or found[1] == right


def test_the_score_of_the_suite_names_survivors() -> None:
    text = page([every_verdict()], MUTANTS)
    parse(text)
    assert "1 of 2" in text
    assert "50 %" in text
    assert re.search(r"✗ not found</span> lac_not_clipped", text)


@pytest.mark.parametrize("full", [True, False])
def test_cases_that_find_nothing_are_named_and_excused_where_not_all_were_tried(full: bool) -> None:
    text = page([every_verdict()], evolve(MUTANTS, full=full))
    assert '<a href="#BKW-ADD-002">' in text
    assert ("others might have found it too" in text) is not full


def test_a_page_of_nothing() -> None:
    parse(page([]))

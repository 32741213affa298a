"""The documentation: cited pages exist, links lead somewhere, and every example is made of the bytes it claims.

An example is a fenced block whose info string is ``hex SPEC`` or ``text SPEC``.  SPEC names a declaration, as the
vectors do (``wire/v2.READ_REQUEST_FRAME``), or one of the few formats that are none, see ``_rebuilt``.  In a ``hex``
block everything from ``#`` to the end of the line is a comment; the bytes of a ``text`` block are its lines, each with
its line feed.
"""

import re
import tempfile
from importlib import import_module
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import construct
import crc32c
import pytest
from google.protobuf.message import Message

from bookkeeper_tx.bookie.journal import records as journal_records
from bookkeeper_tx.entry.digest import EntryDigest, master_key
from bookkeeper_tx.errors import error_of
from bookkeeper_tx.metadata.ledger_record import serialization
from bookkeeper_tx.model import DigestType
from protocol_specs import codecs
from protocol_specs.disk import bookie_status, cookie
from protocol_specs.readable import direction
from protocol_specs.readable.shown import Frame
from protocol_specs.readable.stream import Stream
from protocol_specs.readable.verdicts import Verdicts
from protocol_specs.wire import framing, v3_pb2
from protocol_specs.wire.status import EOK, STATUSES

ROOT = Path(__file__).parent.parent
PAGES = sorted(chain(ROOT.glob("docs/**/*.md"), ROOT.glob("*.md")))
SOURCES = sorted(
    path
    for directory in ("bookkeeper_tx", "protocol_specs", "compat_tests", "twisted", "tests")
    for path in (ROOT / directory).rglob("*")
    if path.suffix in (".py", ".proto", ".java") and path.name != Path(__file__).name
)

CITATION = re.compile(r"\bdocs/[\w/.-]+\.md\b")
BLOCK = re.compile(r"^```(\S*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LABEL = re.compile(r"^\((sec-[a-z0-9-]+)\)=$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/.-]+\.py)(?:::(\w+))?`")
FRAMES = re.compile(r"^wire/(v2\..*_FRAME|v3\.(Request|Response)|framing\.FRAME)$")
REFERENCE = sorted(chain(ROOT.glob("docs/protocol/*.md"), ROOT.glob("docs/formats/*.md")))


class Example(NamedTuple):
    """One example of a page."""

    page: Path
    spec: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)} {self.spec}"


def _examples(page: Path) -> list[Example]:
    found = []
    for language, spec, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "hex":
            found.append(Example(page, spec, bytes.fromhex(re.sub(r"#.*", "", text))))
        elif language == "text" and spec:
            found.append(Example(page, spec, text.encode()))
    return found


EXAMPLES = [example for page in PAGES for example in _examples(page)]


def _prose(page: Path) -> str:
    """Return a page without its code, where brackets are no links and # is no heading."""
    return re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text(encoding="utf-8")))


def _prose_with_code(page: Path) -> str:
    return BLOCK.sub("", page.read_text(encoding="utf-8"))


def _anchors(page: Path) -> set[str]:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def _spec(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module("protocol_specs." + module.replace("/", ".")), attribute)


def _rebuilt_message(kind: type[Message], data: bytes) -> bytes:
    """Parse a frame that holds a protobuf message, and build it again."""
    message = kind.FromString(framing.FRAME.parse(data).body)
    assert message.IsInitialized()
    body = message.SerializeToString()
    return bytes(framing.FRAME.build({"length": len(body), "body": body}))


def _rebuilt(spec: str, data: bytes) -> bytes:
    """Parse ``data`` as ``spec`` says and build it again from the values."""
    if spec == "disk/cookie":
        return cookie.build(*cookie.parse(data))
    if spec == "disk/bookie_status":
        return bookie_status.build(bookie_status.parse(data))
    if spec == "metadata/ledger":
        return serialization.serialize(serialization.parse(data, 0))
    if spec in ("wire/v3.Request", "wire/v3.Response"):
        return _rebuilt_message(getattr(v3_pb2, spec.rpartition(".")[2]), data)
    declaration = _spec(spec)
    if isinstance(declaration, type) and issubclass(declaration, Message):
        return bytes(declaration.FromString(data).SerializeToString())
    values = declaration.parse(data)
    rebuilt = bytes(declaration.build(values))
    if spec.endswith(".LAC_METADATA"):
        return rebuilt + data[len(rebuilt) :]  # what it declares is what the digest behind it covers
    if not isinstance(declaration, construct.Struct):
        return rebuilt
    try:
        codec = codecs.derive(spec, declaration)
    except codecs.UnsupportedForm:
        return rebuilt
    assert codec.pack(*codec.unpack_from(data)) == rebuilt
    return rebuilt


def test_there_are_examples() -> None:
    assert len({example.spec for example in EXAMPLES}) > 15


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_parses_and_builds_to_the_same_bytes(example: Example) -> None:
    assert _rebuilt(example.spec, example.data) == example.data


@pytest.mark.parametrize("example", [each for each in EXAMPLES if FRAMES.search(each.spec)], ids=str)
def test_bktx_wire_reads_every_frame_and_knows_which_way_it_went(example: Example) -> None:
    told = direction.guess(example.data) or "request"
    assert told == ("response" if re.search("REPLY|Response|AUTH", example.spec) else "request")
    (frame,) = Stream(told, Verdicts()).read(example.data)
    assert isinstance(frame, Frame)
    assert frame.broken is None


def test_the_group_on_the_journal_page_is_sealed_as_we_seal() -> None:
    specs = ("disk/meta_entries.BLOB_RECORD", "disk/journal.RECORD", "disk/journal.SEAL_PAD")
    examples = _examples(ROOT / "docs/formats/journal.md")
    key, entry, seal = (next(each.data for each in examples if each.spec == spec) for spec in specs)
    start, records, salt = 1024, key + entry, bytes(range(8))
    pad = journal_records.seal_pad(start, start + len(records), crc32c.crc32c(records), salt)
    assert pad.startswith(seal)
    assert not any(pad[len(seal) :])


def test_the_entry_on_the_entry_page_is_what_we_write() -> None:
    sealed = EntryDigest(DigestType.CRC32C, b"testPasswd").seal(1, 2, 1, 5, b"hello")
    page = ROOT / "docs/protocol/entry.md"
    assert sealed in [example.data for example in _examples(page)]
    assert master_key(b"testPasswd").hex() in page.read_text(encoding="utf-8")


def test_cited_pages_exist() -> None:
    cited = {(page, source) for source in SOURCES for page in CITATION.findall(source.read_text(encoding="utf-8"))}
    assert cited
    assert [f"{source}: {page}" for page, source in sorted(cited) if not (ROOT / page).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    for target in LINK.findall(_prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), f"{target} leads nowhere"
        if anchor:
            assert anchor in _anchors(linked), f"{target}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_name_no_place_on_the_machine_they_were_written_on(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    private = {str(ROOT), str(Path.home()), "/home/", "/root/", "/Users/"} - {"/"}
    if ROOT.parent not in (Path("/"), Path(tempfile.gettempdir())):  # pages use the latter for what they make
        private.add(f"{ROOT.parent}/")
    assert [place for place in sorted(private) if place in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_tests_that_a_page_names_exist(page: Path) -> None:
    for name, function in TEST.findall(_prose_with_code(page)):
        source = ROOT / name
        assert source.is_file(), f"{name} is not there"
        assert f"def {function}(" in source.read_text(encoding="utf-8") or not function, f"{name} has no {function}"


def test_every_page_of_the_reference_names_its_tests() -> None:
    exempt = {"overview", "message-flow", "conventions", "releases", "errata"}
    without = [page.stem for page in REFERENCE if not TEST.search(_prose_with_code(page))]
    assert set(without) <= exempt


def test_section_names_are_unique_and_those_that_are_cited_exist() -> None:
    names = [name for page in PAGES for name in LABEL.findall(page.read_text(encoding="utf-8"))]
    assert len(names) == len(set(names)) > 60
    cited = {
        name for source in SOURCES for name in re.findall(r"\bsec-[a-z0-9-]+\b", source.read_text(encoding="utf-8"))
    }
    assert cited <= set(names)


def test_the_rules_are_in_capitals_that_conventions_explains() -> None:
    text = (ROOT / "docs/protocol/conventions.md").read_text(encoding="utf-8")
    assert "BCP 14" in text
    assert sum(page.read_text(encoding="utf-8").count(" MUST ") for page in REFERENCE) > 30


@pytest.mark.parametrize("page", REFERENCE, ids=lambda path: path.stem)
def test_every_rule_stands_in_a_section_with_a_name_that_stays(page: Path) -> None:
    nameless, before, named = [], "", False
    for line in filter(None, page.read_text(encoding="utf-8").splitlines()):
        if HEADING.match(line):
            named = bool(LABEL.match(before))
        elif re.search(r"\b(MUST|SHOULD|MAY)\b", line) and not named:
            nameless.append(line)
        before = line
    assert nameless == []


@pytest.mark.parametrize("page", REFERENCE, ids=lambda path: path.stem)
def test_the_index_lists_every_page_of_the_reference(page: Path) -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert f"({page.relative_to(ROOT / 'docs')})" in index


def test_the_status_page_has_every_status() -> None:
    text = (ROOT / "docs/protocol/status.md").read_text(encoding="utf-8")
    rows = [[cell.strip(" `") for cell in row.split("|")[1:6]] for row in text.splitlines()]
    for status in STATUSES:
        error = "" if status is EOK else type(error_of(status)).__name__
        assert [status.name, str(status.v2), str(status.v3), str(status.client), error] in rows


# The budget of a batch read ------------------------------------------------------------------------------------------

TIMES = {"ten": 10, "five": 5, "fifty": 50}


def _stored_sizes(words: str) -> list[int]:
    """Return the sizes that ``1000, then 100 fifty times`` says."""
    sizes: list[int] = []
    for part in words.replace("then ", "").replace(" times", "").split(", "):
        number, _, times = part.rpartition(" ") if part.split()[-1] in TIMES else (part, "", "")
        if part in TIMES:
            sizes *= TIMES[part]
        else:
            sizes += [int(number.replace(" ", ""))] * TIMES.get(times, 1)
    return sizes


def _returned(sizes: list[int], max_count: int, max_size: int, predicts: bool) -> int:
    """Return how many entries a reply has, by the program on the page; ``predicts`` as 4.18 does."""
    count = max_count if max_count > 0 else len(sizes)
    budget = min(max_size, 5_242_880)
    used = 36
    for i, size in enumerate(sizes):
        if i and (i == count or used + 4 + size > budget):
            return i
        used += 4 + size
        if not i and predicts:
            count = min(count, 1 + max(0, (budget - used) // (4 + size)))
    return len(sizes)


def test_the_table_of_batch_reads_is_what_its_rules_give() -> None:
    page = (ROOT / "docs/protocol/batch-read.md").read_text(encoding="utf-8")
    rows = [row.strip("| \n").split(" | ") for row in re.findall(r"^\| [\d ]+, .* \|$", page, re.MULTILINE)]
    assert len(rows) == 9
    for stored, counts, sizes, returned, by_4_18 in rows:
        for max_count, max_size in product(
            re.findall(r"-?\d+", counts), re.findall(r"-?\d+", sizes.replace("10⁹", "1000000000"))
        ):
            case = (_stored_sizes(stored), int(max_count), int(max_size))
            assert _returned(*case, predicts=False) == int(returned.split()[0]), stored
            assert _returned(*case, predicts=True) == int(by_4_18), stored

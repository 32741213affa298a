"""The generated parts of the reference are as the declarations are, and every declaration is in it."""

import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import construct
import pytest
from google.protobuf.descriptor import Descriptor

from protocol_specs import document
from protocol_specs.disk import entry_log, journal, last_mark, ledger_index, meta_entries
from protocol_specs.disk import formats_pb2 as disk_formats_pb2
from protocol_specs.entry import v1
from protocol_specs.entry import v2 as entry_v2
from protocol_specs.metadata import formats_pb2
from protocol_specs.rendering import examples, lanes, layout, pieces, proto
from protocol_specs.rendering.layout import Row
from protocol_specs.wire import entry_list, framing, v2, v3_pb2

ROOT = Path(__file__).parent.parent.parent
MODULES = (framing, v2, entry_list, v1, entry_v2, journal, entry_log, ledger_index, last_mark, meta_entries)
DECLARATIONS = {
    f"{module.__name__.removeprefix('protocol_specs.').replace('.', '/')}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, construct.Struct) or layout.bit_fields(value) is not None
}
MESSAGES = [
    message
    for module in (v3_pb2, formats_pb2, disk_formats_pb2)
    for message in module.DESCRIPTOR.message_types_by_name.values()
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    return tmp_path


def _pages() -> str:
    return "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))


def test_the_reference_is_what_the_declarations_say() -> None:
    assert document.stale(ROOT) == []


def test_a_change_by_hand_is_noticed_and_undone(checkout: Path) -> None:
    page = checkout / "docs/protocol/add-entry.md"
    before = page.read_text(encoding="utf-8")
    page.write_text(before.replace("| 8 | 20 | bytes[20] |", "| 8 | 21 | bytes[21] |"), encoding="utf-8")
    assert document.stale(checkout) == ["docs/protocol/add-entry.md is not what its declarations say"]
    assert document.write(checkout) == [page]
    assert page.read_text(encoding="utf-8") == before


def test_pictures_that_are_missing_or_that_nobody_shows_are_noticed(checkout: Path) -> None:
    missing, extra = checkout / "docs/diagrams/append.svg", checkout / "docs/diagrams/extra.flow"
    missing.unlink()
    extra.write_text("nobody\na, b\na -> b: c\n", encoding="utf-8")
    assert document.stale(checkout) == [
        "docs/diagrams/append.svg is missing",
        "docs/diagrams/extra.flow is on no page",
    ]


@pytest.mark.parametrize(
    "part",
    [
        "fields wire/v2.NOTHING",
        "example no such vector",
        "states nowhere",
        "flow nowhere",
        "message wire/v3_pb2.X",
        "what",
    ],
)
def test_a_part_that_cannot_be_made_is_named_with_its_page(checkout: Path, part: str) -> None:
    page = checkout / "docs/protocol/v2.md"
    page.write_text(f"<!-- spec {part} -->\n<!-- end -->\n", encoding="utf-8")
    with pytest.raises(document.UnknownPart, match=re.escape("docs/protocol/v2.md: " + part.strip())):
        document.stale(checkout)


@pytest.mark.parametrize(
    "broken", ["<!-- spec digests -->\n", "<!-- end -->\n", "<!-- spec digests -->\n" * 2 + "<!-- end -->\n"]
)
def test_a_part_without_its_other_mark_is_refused_and_swallows_no_text(checkout: Path, broken: str) -> None:
    page = checkout / "docs/protocol/quorums.md"
    text = f"before\n\n{broken}\nbehind\n\n<!-- spec digests -->\n<!-- end -->\n"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(document.UnknownPart, match="has no"):
        document.write(checkout)
    assert page.read_text(encoding="utf-8") == text


def test_what_stands_between_parts_stays(checkout: Path) -> None:
    page = checkout / "docs/protocol/quorums.md"
    page.write_text("<!-- spec digests -->\n<!-- end -->\n\nbetween\n\n<!-- spec digest-values -->\n<!-- end -->\n")
    document.write(checkout)
    assert "<!-- end -->\n\nbetween\n\n<!-- spec digest-values -->" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("spec", [name for name in DECLARATIONS if not name.endswith(("_FRAME", "PAD_HEADER"))])
def test_every_field_says_what_it_means(spec: str) -> None:
    assert [row.name for row in layout.rows_of(DECLARATIONS[spec]) if not row.meaning] == []


@pytest.mark.parametrize("module", [v2, entry_list])
def test_every_frame_has_its_table_in_the_reference(module: Any) -> None:
    stem = module.__name__.rpartition(".")[2]
    names = [name for name in DECLARATIONS if name.startswith(f"wire/{stem}.")]
    wanted = [name for name in names if name.endswith("_FRAME") or stem == "entry_list"]
    shown = _pages()
    missing = [name for name in wanted if f"<!-- spec fields {name} -->" not in shown]
    assert missing == (["wire/entry_list.ENTRY_LIST"] if stem == "entry_list" else [])


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.name)
def test_every_message_has_its_table_and_every_field_of_it_a_meaning(message: Descriptor) -> None:
    stem = message.file.name.removeprefix("protocol_specs/").replace(".proto", "_pb2")
    if message.fields:
        assert f"<!-- spec message {stem}.{message.name} -->" in _pages()
    said = proto.said_of(message.file.name.removeprefix("protocol_specs/"))
    meant = {field.name: said[f"{message.name}.{field.name}"][1] for field in message.fields}
    assert [name for name, meaning in meant.items() if not meaning] == []


def test_values_that_only_one_message_has_stand_in_its_table_with_their_numbers() -> None:
    assert "| 100 | `flag` | enum: 1 FENCE_LEDGER, 2 ENTRY_PIGGYBACK |" in proto.message(v3_pb2.ReadRequest)
    assert "| 100 | `flag` | enum: 1 RECOVERY_ADD |" in proto.message(v3_pb2.AddRequest)
    assert "| StatusCode |" in proto.message(v3_pb2.Response)


@pytest.mark.parametrize("picture", sorted((ROOT / "docs/diagrams").glob("*.svg")), ids=lambda path: path.stem)
def test_pictures_are_whole_and_nothing_sticks_out(picture: Path) -> None:
    root = ElementTree.parse(picture).getroot()
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert width < 1000, "wider than a page: its words would be too small to read"
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        reach = len(text.text or "") * float(text.attrib["font-size"]) * 0.62
        left = {"start": x, "middle": x - reach / 2, "end": x - reach}[text.attrib["text-anchor"]]
        assert left > -12
        assert left + reach < width + 12, text.text
        assert 0 < y <= height


def test_offsets_behind_a_field_of_unknown_size_are_sums() -> None:
    offsets = {row.name: row.offset for row in layout.rows_of(ledger_index.HEADER)}
    assert offsets["state"] == "12 + n"
    assert offsets["explicit_lac"] == "20 + n"


def test_rows_of_bits_count_from_the_right() -> None:
    first, *_, last = layout.rows_of(framing.PACKET_HEADER)
    assert first == Row("version", "31-24", "8", "bits", first.meaning, 1)
    assert last.offset == "15-0"


def test_an_example_shows_every_byte_once() -> None:
    for name in ("v2 batch read reply EOK, one entry, CRC32C", "v2 fencing batch read", "last mark", "LAYOUT"):
        shown = re.sub(r"#.*|```.*|\*.*", "", examples.example(name))
        vector = examples._by_name()[name]
        assert bytes.fromhex(shown) == bytes.fromhex(vector["hex"])


def test_a_digest_that_is_named_is_shown_apart_from_the_payload() -> None:
    assert "46e034fd6d26cf82d366cba03baa9696d4be0d4e   # digest" in examples.example("entry 2 of ledger 1, HMAC")


def test_what_is_of_format_v2_is_cut_as_that_wherever_it_is() -> None:
    shown = examples.exchange("v3 add outside scope 0")
    assert re.search(r"^ +a1 +# flags 0xa1$", shown, re.MULTILINE)
    assert re.search(r"^ +000000006240dd9f +# digest$", shown, re.MULTILINE)
    shown = examples.exchange("v3 WRITE_LAC outside scope 0")
    assert re.search(r"^ +a[1-4] +# flags 0xa[1-4]$", shown, re.MULTILINE)
    assert "# last add confirmed" in shown


def test_a_header_says_its_flags() -> None:
    assert pieces.header_words(0x02010006).endswith("flags 6: recovery add, high priority")
    assert pieces.header_words(2) == "version 0, operation 2 (read entry), flags 0"
    assert "unknown" in pieces.header_words(0x02090000)


def test_a_flow_that_is_not_written_right_is_refused() -> None:
    with pytest.raises(lanes.Unreadable, match="'c'"):
        lanes.read("title\na, b\na -> c: words")
    with pytest.raises(lanes.Unreadable, match="neither"):
        lanes.read("title\na, b\nwords")


def test_the_command_says_what_is_stale(checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(document, "__file__", str(checkout / "protocol_specs/document.py"))
    assert document.main(["--check"]) == 0
    (checkout / "docs/diagrams/append.svg").unlink()
    assert document.main(["--check"]) == 1
    assert "append.svg is missing; run python -m protocol_specs.document" in capsys.readouterr().err
    assert document.main([]) == 0
    assert capsys.readouterr().out == "docs/diagrams/append.svg\n"
    shutil.rmtree(checkout / "docs")
    assert document.main([]) == 2
    assert "checkout" in capsys.readouterr().err
    assert document.main(["--help"]) == 2

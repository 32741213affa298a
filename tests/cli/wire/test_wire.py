"""``bktx wire``: typed, piped and captured input, and its display."""

import json
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.cli import main
from bookkeeper_tx.cli.wire import wire_input
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import DigestType
from protocol_specs import declarations
from tests.protocol_specs.readable import captures

ADD = (
    "00000041 02010000 2e2a69d870796fe05c0e77c52a29ce5e4222b758 0000000000000001 0000000000000002 0000000000000001"
    " 0000000000000005 1b3ebc1b 68656c6c6f"
)
READ = "00000014 02020000 0000000000000001 ffffffffffffffff"

SHOWN_ADD = """\
request at 0: V2 ADD_ENTRY, 69 bytes
offset  size  field                 value                                     meaning
     0     4  length                65
     4     4  header                0x02010000                                version 2, ADD_ENTRY
     8    20  master_key            2e2a69d870796fe05c0e77c52a29ce5e4222b758  of the password given
    28    41  entry
    28     8    ledger_id           1
    36     8    entry_id            2
    44     8    last_add_confirmed  1
    52     8    length              5
    60     4    digest              1b3ebc1b                                  CRC32C, matches
    64     5    payload             68656c6c6f                                'hello'
"""

SHOWN_BROKEN = """\
request at 0: V2 READ_ENTRY, 24 bytes
offset  size  field      value       meaning
     0     4  length     20
     4     4  header     0x02020000  version 2, READ_ENTRY
     8     8  ledger_id  1
    16     8  entry_id   -1          the last entry that the bookie stores

request at 24: V2, 8 bytes
offset  size  field   value       meaning
    24     4  length  4
    28     4  header  0x02090000  version 2, unknown operation 9
malformed V2 packet: unknown operation 9: a bookie closes the connection (field header, offset 28)
"""

SHOWN_CAPTURE = """\
connection 10.0.0.1:50000 > 10.0.0.2:3181

request at 0, packet 4: V2 READ_ENTRY, 24 bytes
offset  size  field      value       meaning
     0     4  length     20
     4     4  header     0x02020000  version 2, READ_ENTRY
     8     8  ledger_id  1
    16     8  entry_id   -1          the last entry that the bookie stores

response at 0, packet 5: V2 READ_ENTRY, 28 bytes
offset  size  field      value       meaning
     0     4  length     24
     4     4  header     0x02020000  version 2, READ_ENTRY
     8     4  status     2           ENOENTRY: This bookie knows the ledger but has no such entry.
    12     8  ledger_id  1
    20     8  entry_id   -1          the last entry that the bookie stores
"""

SHOWN_SPEC = """\
wire/v2.READ_REPLY: entry is the entry as stored, empty unless status is 0
offset  size  type    field      meaning
0       4     uint32  header     version and operation of the request, flags 0
4       4     int32   status     return code
8       8     int64   ledger_id  as in the request
16      8     int64   entry_id   as in the request, -1 included
24      rest  bytes   entry      as stored; nothing unless the status is 0
"""


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BKTX_PASSWORD", "testPasswd")


@pytest.fixture
def bktx(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main.run_command(["wire", *arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_a_frame_is_a_table(bktx: Any) -> None:
    assert bktx("decode", "--hex", ADD) == (0, SHOWN_ADD, "")


def test_the_guide_shows_what_is_shown(bktx: Any) -> None:
    code, out, _ = bktx("decode", "--hex", READ)
    guide = Path(__file__).parent.parent.parent.parent / "docs" / "guides" / "cli.md"
    assert code == 0
    assert f"```\n{out}```" in guide.read_text(encoding="utf-8")


def test_what_is_malformed_is_shown_up_to_where_it_breaks(bktx: Any) -> None:
    assert bktx("decode", "--hex", READ + "00000004 02090000" + READ) == (1, SHOWN_BROKEN, "")


@pytest.mark.parametrize(
    ("payload", "text"),
    [(b"a line\n", r"'a line\n'"), (b"\0\1\2", ""), ("é".encode(), ""), (b"", ""), (b"x" * 70, f"'{'x' * 60}'…")],
)
def test_payloads_that_are_text_are_shown_as_such(bktx: Any, payload: bytes, text: str) -> None:
    entry = EntryDigest(DigestType.CRC32C, b"testPasswd").seal(1, 2, 1, 5, payload)
    frame = (24 + len(entry)).to_bytes(4, "big") + bytes.fromhex("02010000") + bytes(20) + entry
    code, out, _ = bktx("decode", "--hex", frame.hex())
    shown = out.splitlines()[-1].split(maxsplit=4)
    assert (code, shown[2]) == (0, "payload")
    assert shown[4:] == ([text] if text else [])


def test_json_has_everything(bktx: Any) -> None:
    code, out, _ = bktx("decode", "--json", "--hex", READ + "00000004 02090000")
    read, broken = map(json.loads, out.splitlines())
    assert code == 1
    assert (read["offset"], read["size"], read["direction"], read["dialect"]) == (0, 24, "request", "V2")
    assert read["operation"] == "READ_ENTRY"
    assert read["fields"][-1] == {
        "name": "entry_id",
        "offset": 16,
        "size": 8,
        "value": -1,
        "meaning": "the last entry that the bookie stores",
    }
    assert broken["malformed"]["offset"] == 28


def test_a_capture(bktx: Any, tmp_path: Any) -> None:
    reply = bytes.fromhex("0000001802020000000000020000000000000001ffffffffffffffff")
    file = tmp_path / "bookie.pcap"
    file.write_bytes(
        captures.pcap([*captures.hello(), *captures.requests(bytes.fromhex(READ)), *captures.replies(reply)])
    )
    assert bktx("decode", str(file)) == (0, SHOWN_CAPTURE, "")
    code, out, _ = bktx("decode", "--json", str(file))
    first = json.loads(out.splitlines()[0])
    assert code == 0
    assert (first["client"], first["bookie"], first["packet"], first["time_s"]) == (
        "10.0.0.1:50000",
        "10.0.0.2:3181",
        4,
        3.0,
    )


def test_a_capture_without_such_a_port(bktx: Any, tmp_path: Any) -> None:
    file = tmp_path / "bookie.pcap"
    file.write_bytes(captures.pcap(captures.hello()))
    code, out, err = bktx("decode", "--port", "4181", str(file))
    assert (code, out) == (1, "")
    assert "no connection in this capture has port 4181" in err


@pytest.mark.parametrize("as_text", [True, False])
def test_files_may_be_raw_or_hexadecimal(bktx: Any, tmp_path: Any, as_text: bool) -> None:
    file = tmp_path / "frame"
    file.write_bytes(ADD.encode() if as_text else bytes.fromhex(ADD))
    assert bktx("decode", str(file)) == (0, SHOWN_ADD, "")


def test_the_direction_may_be_told(bktx: Any) -> None:
    reply = "00000018 02010000 00000000 0000000000000001 0000000000000002"
    assert "response at 0: V2 ADD_ENTRY" in bktx("decode", "--hex", reply)[1]
    code, out, _ = bktx("decode", "--direction", "request", "--hex", reply)
    assert code == 1
    assert "malformed" in out


def test_a_direction_that_nothing_tells_is_said(bktx: Any) -> None:
    code, out, err = bktx("decode", "--hex", "0000000e 02030000 0a03666f6f 1203616263")
    assert code == 0
    assert "'foo'" in out or "foo" in out
    assert "nothing tells which way this went" in err


LEDGER = f"{7:016x}"
ENTRY = LEDGER + f"{0:016x}{-1 % 2**64:016x}" + "68656c6c6f"


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (f"0000004a 02070000 00000000 {LEDGER}{0:016x}{77:016x} 0000001d {ENTRY} 00000009 0405", "response"),
        (f"00000020 02070000 00000000 {LEDGER}{0:016x}{77:016x}", None),
        (f"00000018 02020000 00000000 {LEDGER}{0:016x}", None),
        (f"00000019 02020000 {LEDGER}{0:016x} 0102030405", None),
        (f"00000014 02020000 {LEDGER}{0:016x}", "request"),
        (f"00000018 02020004 {LEDGER}{0:016x} 01020304", "request"),
    ],
)
def test_damaged_replies_are_not_taken_for_requests_in_silence(bktx: Any, frame: str, told: str | None) -> None:
    _, out, err = bktx("decode", "--hex", frame)
    assert ("nothing tells which way" in err) is (told is None)
    assert out.startswith(f"{told or 'request'} at 0")


def test_no_bytes_at_all_are_an_error(bktx: Any) -> None:
    code, out, err = bktx("decode", "--hex", "# only a comment")
    assert (code, out) == (1, "")
    assert "there are no bytes to decode" in err


@pytest.mark.parametrize("arguments", [(), ("--hex", READ, "setup.cfg")])
def test_one_source_is_needed(bktx: Any, arguments: tuple[str, ...]) -> None:
    code, _, err = bktx("decode", *arguments)
    assert code == 2
    assert err


# Hexadecimal in any shape --------------------------------------------------------------------------------------------

DATA = bytes(range(20)) + bytes(76)

SHAPES = {
    "plain": DATA.hex(),
    "spaces": DATA.hex(" "),
    "lines": DATA.hex("\n", 8),
    "prefixed": ", ".join(f"0x{byte:02x}" for byte in DATA),
    "escaped": "".join(f"\\x{byte:02X}" for byte in DATA),
    "colons": DATA.hex(":").upper(),
    "commented": f"# a header\n{DATA[:4].hex()}  # length\n{DATA[4:].hex()}",
    "hexdump": """\
00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  |................|
00000010  10 11 12 13 00 00 00 00  00 00 00 00 00 00 00 00  |................|
00000020  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
*
00000060
""",
    "hexdump without text": """\
00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f
00000010  10 11 12 13 00 00 00 00  00 00 00 00 00 00 00 00
00000020  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00
*
00000060
""",
    "xxd": """\
00000000: 0001 0203 0405 0607 0809 0a0b 0c0d 0e0f  ................
00000010: 1011 1213 0000 0000 0000 0000 0000 0000  ................
00000020: 0000 0000 0000 0000 0000 0000 0000 0000  ................
00000030: 0000 0000 0000 0000 0000 0000 0000 0000  ................
00000040: 0000 0000 0000 0000 0000 0000 0000 0000  ................
00000050: 0000 0000 0000 0000 0000 0000 0000 0000  ................
""",
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_shapes(text: str) -> None:
    assert wire_input.of_hex(text) == DATA


def test_digits_that_look_like_an_offset_are_digits() -> None:
    assert wire_input.of_hex("00000014  02 02 00 00") == bytes.fromhex("0000001402020000")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("00 01\n02 0g", "line 2: 'g' is no hexadecimal digit"),
        ("000", "line 1: an odd number of digits"),
        ("00000000: 0001 0203  ....\n00000010: 0405  ..", "line 2 of the dump is at offset 0x10: 0x4 is next"),
        ("00000000: 0001 0203  ....\nand so on", "line 2 is not one of a dump"),
        ("00000000  00 01  |..|\n*\n7fffffffffff", "line 3 of the dump is 140737488355327 bytes on: at most"),
    ],
)
def test_what_is_no_hexadecimal(text: str, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        wire_input.of_hex(text)


# Declarations --------------------------------------------------------------------------------------------------------


def test_a_declaration_is_a_table(bktx: Any) -> None:
    assert bktx("spec", "wire/v2.READ_REPLY") == (0, SHOWN_SPEC, "")
    assert bktx("spec", "read_reply") == (0, SHOWN_SPEC, "")


@pytest.mark.parametrize("name", [each.name for each in declarations.all_of_them()])
def test_every_declaration_can_be_shown(bktx: Any, name: str) -> None:
    code, out, err = bktx("spec", name)
    assert (code, err) == (0, "")
    assert out.startswith(name)
    assert bktx("spec", "--json", name)[0] == 0


def test_the_list_names_them_all(bktx: Any) -> None:
    code, out, _ = bktx("spec")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == [each.name for each in declarations.all_of_them()]
    assert len(bktx("spec", "--json")[1].splitlines()) == len(declarations.all_of_them())


def test_an_unknown_declaration(bktx: Any) -> None:
    assert bktx("spec", "nonsense")[0] == 1
    code, _, err = bktx("spec", "ENTRY")
    assert code == 1
    assert "entry/v1.ENTRY, entry/v2.ENTRY" in err

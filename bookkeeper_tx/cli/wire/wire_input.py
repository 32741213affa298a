"""The input of ``bktx wire decode``: raw bytes, hexadecimal of any shape, or a capture."""

import re
import string
from io import BytesIO
from typing import BinaryIO

import click
from attrs import frozen

from bookkeeper_tx.errors import InvalidArgument
from protocol_specs.readable import capture
from protocol_specs.readable.reassembly import Connection, Reassembly

HEXDUMP_LINE = re.compile(r"^([0-9a-fA-F]{7,})((?: {1,2}[0-9a-fA-F]{2})*) *(?:\|.*)?$")
"""A line of ``hexdump -C``: offset, bytes, and the same as text between bars."""

XXD_LINE = re.compile(r"^([0-9a-fA-F]{8,}): ((?:[0-9a-fA-F]{2,8} )*[0-9a-fA-F]{2,8})(?:  .*)?$")
"""A line of ``xxd``: offset, a colon, bytes in groups, two spaces, text."""

DUMP_SIZE_MAX = 256 * 1024 * 1024
"""Most bytes that a dump may stand for: two short lines with a squeezed one between them can stand for any number."""

SQUEEZED = "*"
"""Stands for lines of ``hexdump`` that are equal to the one before."""

PREFIXES = re.compile(r"0[xX]|\\x")
SEPARATORS = re.compile(r"[\s,:;_-]")
COMMENT = re.compile(r"#.*")
TEXT = frozenset(string.printable.encode())


@frozen
class CaptureFile:
    """The bytes of a capture file."""

    data: bytes


def read(file: BinaryIO | None, text: str | None, as_capture: bool) -> bytes | CaptureFile:
    """Return the bytes that are to be decoded; raises :class:`click.UsageError` when there are none or too many."""
    if (file is None) == (text is None):
        raise click.UsageError("give a FILE, - for standard input, or --hex TEXT")
    if text is not None:
        return of_hex(text)
    assert file is not None
    data = file.read()
    if as_capture or data.startswith(capture.MAGICS):
        return CaptureFile(data)
    if data and TEXT.issuperset(data):  # a frame starts with a zero byte
        return of_hex(data.decode("ascii"))
    return data


def connections(source: CaptureFile, ports: tuple[int, ...]) -> tuple[capture.Capture, list[Connection]]:
    """Return the capture, and the connections to these ports in it; raises :class:`InvalidArgument`."""
    try:
        packets, reassembly = capture.Capture(BytesIO(source.data)), Reassembly(ports)
    except capture.NotACapture as error:
        raise InvalidArgument(str(error)) from error
    for segment in packets.segments():
        reassembly.add(segment)
    return packets, reassembly.connections


def of_hex(text: str) -> bytes:
    """Return the bytes that ``text`` writes in hexadecimal; raises :class:`InvalidArgument` where it is none."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if lines:
        for pattern in (XXD_LINE, HEXDUMP_LINE):
            if (first := pattern.match(lines[0])) and first[2] and _is_start(pattern, first, lines):
                return _of_dump(lines, pattern)
    return b"".join(_of_line(number, line) for number, line in enumerate(text.splitlines(), 1))


def _is_start(pattern: re.Pattern[str], first: re.Match[str], lines: list[str]) -> bool:
    """Tell a dump from plain digits in groups: its offsets count its bytes."""
    if pattern is XXD_LINE or "|" in first[0]:
        return True
    size = len(bytes.fromhex(first[2]))
    return len(lines) > 1 and (lines[1] == SQUEEZED or _offset_of(lines[1]) == int(first[1], 16) + size)


def _offset_of(line: str) -> int | None:
    match = HEXDUMP_LINE.match(line)
    return int(match[1], 16) if match else None


def _of_dump(lines: list[str], pattern: re.Pattern[str]) -> bytes:
    data, base, squeezed, last = bytearray(), None, False, b""
    for number, line in enumerate(lines, 1):
        if line == SQUEEZED:
            squeezed = True
            continue
        match = pattern.match(line) or HEXDUMP_LINE.match(line)
        if match is None:
            raise InvalidArgument(f"line {number} is not one of a dump: {line[:60]!r}")
        offset = int(match[1], 16)
        base = offset if base is None else base
        if offset - base > DUMP_SIZE_MAX:
            raise InvalidArgument(f"line {number} of the dump is {offset - base} bytes on: at most {DUMP_SIZE_MAX}")
        if squeezed and last:
            data += last * ((offset - base - len(data)) // len(last))
        squeezed = False
        if len(data) != offset - base:
            raise InvalidArgument(f"line {number} of the dump is at offset {offset:#x}: {len(data) + base:#x} is next")
        last = bytes.fromhex(match[2])
        data += last
    return bytes(data)


def _of_line(number: int, line: str) -> bytes:
    digits = SEPARATORS.sub("", PREFIXES.sub("", COMMENT.sub("", line)))
    try:
        return bytes.fromhex(digits)
    except ValueError:
        wrong = next((sign for sign in digits if sign not in string.hexdigits), None)
        reason = "an odd number of digits" if wrong is None else f"{wrong!r} is no hexadecimal digit"
        raise InvalidArgument(f"line {number}: {reason}") from None

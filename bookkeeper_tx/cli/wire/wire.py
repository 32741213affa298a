"""``bktx wire``: decoding of BookKeeper traffic, and the layout of frames and files."""

from typing import Any, BinaryIO

import click

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.wire import wire_input, wire_report, wire_spec
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import DigestType
from protocol_specs.readable import conversation, direction
from protocol_specs.readable.shown import Direction
from protocol_specs.readable.stream import Stream
from protocol_specs.readable.verdicts import Verdicts

BOOKIE_PORT = 3181
"""The port on which bookies listen by default."""

MALFORMED_EXIT_CODE = 1


@click.group()
def wire() -> None:
    """Show what bytes of BookKeeper traffic say.

    \b
    bktx wire decode --hex 00000014020200000000000000000001ffffffffffffffff
    tcpdump -w bookie.pcap port 3181; bktx wire decode bookie.pcap
    bktx wire spec wire/v2.READ_REQUEST_FRAME
    """


@wire.command()
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--hex", "text", metavar="TEXT", help="Decode these bytes, in hexadecimal, instead of a file.")
@click.option("--pcap", "as_capture", is_flag=True, help="FILE is a capture; one is also known by its first bytes.")
@click.option(
    "--port",
    "ports",
    type=click.IntRange(1, 65535),
    multiple=True,
    default=(BOOKIE_PORT,),
    show_default=True,
    help="Where the bookies of a capture listen; may be given more than once.",
)
@click.option(
    "--direction",
    "way",
    type=click.Choice(["request", "response", "auto"]),
    default="auto",
    show_default=True,
    help="The way of the bytes, unless a capture has it.",
)
@click.option(
    "--digest",
    "digest_type",
    type=click.Choice(list(options.DIGESTS)),
    callback=lambda _context, _option, name: name and options.DIGESTS[name],
    help="How entries of format V1 are protected; default: whatever fits.",
)
@options.password
@click.option("--json", "as_json", is_flag=True, help="One JSON object a frame.")
@click.pass_context
def decode(
    context: click.Context,
    file: BinaryIO | None,
    text: str | None,
    as_capture: bool,
    ports: tuple[int, ...],
    way: str,
    digest_type: DigestType | None,
    password: bytes,
    as_json: bool,
) -> None:
    """Show the frames in FILE: raw bytes, hexadecimal in any shape, hexdump -C and xxd too, or a capture.

    FILE may be - for standard input.  What is malformed is shown up to the byte where it breaks; the exit code is 1
    then.  With the password of a ledger, master keys and HMAC digests are checked as well.
    """
    verdicts = Verdicts(password or None, digest_type and digest_type.value)
    report = wire_report.Report(as_json)
    source = wire_input.read(file, text, as_capture)
    if isinstance(source, wire_input.CaptureFile):
        _decode_capture(source, ports, verdicts, report)
    else:
        _decode_bytes(source, way, verdicts, report)
    context.exit(MALFORMED_EXIT_CODE if report.failed else 0)


def _decode_bytes(data: bytes, way: str, verdicts: Verdicts, report: wire_report.Report) -> None:
    if not data:
        raise InvalidArgument("there are no bytes to decode")
    told: Direction | None = direction.guess(data) if way == "auto" else "request" if way == "request" else "response"
    if told is None:
        report.remark("nothing tells which way this went; shown as requests (--direction response)")
    for item in Stream(told or "request", verdicts).read(data):
        report.item(item)


def _decode_capture(
    source: wire_input.CaptureFile, ports: tuple[int, ...], verdicts: Verdicts, report: wire_report.Report
) -> None:
    capture, connections = wire_input.connections(source, ports)
    for connection in connections:
        report.connection(connection)
        for said in conversation.read(connection, verdicts):
            report.item(said.item, said.segment)
    if not connections:
        report.remark(f"no connection in this capture has port {' or '.join(map(str, ports))}: see --port", failed=True)
    if capture.fragments:
        report.remark(f"{capture.fragments} IP fragments were passed over", failed=True)
    if capture.unreadable:
        report.remark(f"{capture.unreadable} packets are not IP over a known link layer, or are cut short")


@wire.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a field.")
def spec(name: str | None, as_json: bool) -> None:
    """Show the fields of a frame, message, entry or record: its declaration as a table.

    Without NAME: list what there is.
    """
    found: Any = wire_spec.names() if name is None else wire_spec.find(name)
    if name is None:
        wire_spec.show_names(found, as_json)
    else:
        wire_spec.show(found, as_json)

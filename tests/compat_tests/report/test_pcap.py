"""Captures of runs, read back as any other capture."""

from pathlib import Path

import pytest
from attrs import evolve

from bookkeeper_tx.cli import main
from compat_tests.judge.recording import NOTE, SUITE, TARGET, Event
from compat_tests.judge.result import Run
from compat_tests.judge.verdict import Verdict
from compat_tests.report.pcap import write_pcap
from protocol_specs.readable import conversation
from protocol_specs.readable.capture import Capture
from protocol_specs.readable.reassembly import Connection, Reassembly
from protocol_specs.readable.shown import Frame
from protocol_specs.readable.verdicts import Verdicts
from tests.compat_tests.report.sample import case, every_verdict, result, run

READ = bytes.fromhex("00000014020200000000000000000001ffffffffffffffff")
NO_ENTRY = bytes.fromhex("0000001802020000000000020000000000000001ffffffffffffffff")


def read_back(run: Run, path: Path, case: str | None = None) -> list[Connection]:
    count = write_pcap(run, path, case)
    reassembly = Reassembly((3181,))
    with path.open("rb") as file:
        for segment in Capture(file).segments():
            reassembly.add(segment)
    assert len(reassembly.connections) == count
    return reassembly.connections


def talk(*lines: str) -> list[Event]:
    return [
        event
        for number, line in enumerate(lines)
        for event in (Event(number, line, SUITE, READ), Event(number + 0.5, line, TARGET, NO_ENTRY))
    ]


def test_each_connection_of_a_case_is_a_stream(tmp_path: Path) -> None:
    one = run([result("BKW-READ-001", Verdict.PASS, exchange=talk("main", "other", "main"))], [case(1)])
    connections = read_back(one, tmp_path / "one.pcap")
    conversations = [conversation.read(connection, Verdicts()) for connection in connections]
    shown = [[each.item.direction for each in found if isinstance(each.item, Frame)] for found in conversations]
    assert shown == [["request", "response"] * 2, ["request", "response"]]
    assert all(each.item.broken is None for found in conversations for each in found if isinstance(each.item, Frame))
    start_s = conversations[0][0].segment.time_s
    assert [round(each.segment.time_s - start_s, 3) for each in conversations[0]] == [0, 0.5, 2, 2.5]


def test_bktx_wire_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = run([result("BKW-READ-001", Verdict.PASS, exchange=talk("main"))], [case(1)])
    write_pcap(one, tmp_path / "one.pcap")
    assert main.run_command(["wire", "decode", str(tmp_path / "one.pcap")]) == 0
    shown = capsys.readouterr().out
    assert "connection 127.0.0.1:20000 > 127.0.0.1:3181" in shown
    assert "request at 0, packet 4: V2 READ_ENTRY, 24 bytes" in shown
    assert "response at 0, packet 5: V2 READ_ENTRY, 28 bytes" in shown


def test_a_client_connects_to_the_suite(tmp_path: Path) -> None:
    events = [Event(0, "main", TARGET, READ), Event(1, "main", SUITE, NO_ENTRY), Event(2, "main", NOTE, text="bye")]
    one = run([result("BKW-CLIENT-001", Verdict.PASS, "", exchange=events)], [], role="client")
    (connection,) = read_back(one, tmp_path / "one.pcap")
    assert connection.requests.stretches()[0].data == READ


def test_a_line_that_was_opened_again_is_two_streams(tmp_path: Path) -> None:
    events = [*talk("main"), Event(3, "main", NOTE, text="closed by the target"), *talk("main")]
    one = run([result("BKW-READ-001", Verdict.PASS, exchange=events)], [case(1)])
    assert len(read_back(one, tmp_path / "one.pcap")) == 2


def test_bytes_that_fill_many_packets(tmp_path: Path) -> None:
    data = bytes(range(256)) * 1000
    one = run([result("BKW-READ-001", Verdict.PASS, exchange=[Event(0, "main", SUITE, data)])], [case(1)])
    (connection,) = read_back(one, tmp_path / "one.pcap")
    assert connection.requests.stretches()[0].data == data


def test_one_case_may_be_chosen(tmp_path: Path) -> None:
    assert len(read_back(every_verdict(), tmp_path / "all.pcap")) == 8
    assert len(read_back(every_verdict(), tmp_path / "one.pcap", "BKW-READ-003")) == 1
    assert read_back(evolve(every_verdict(), started="?"), tmp_path / "none.pcap", "BKW-NONE-001") == []


def test_more_connections_than_there_are_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compat_tests.report.pcap.CLIENT_PORT_MIN", 2**16 - 5)
    many = [result("BKW-READ-001", Verdict.PASS, exchange=talk("main", "other"))] * 11
    assert len(read_back(run(many, [case(1)]), tmp_path / "many.pcap")) == 22

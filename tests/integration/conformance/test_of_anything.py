"""The command against servers that are not or no longer bookies: a verdict in time, no traceback, no remains."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from compat_tests.targets.ports import choose_port
from tests.integration.conformance import bad_servers
from tests.sampling import one_in

#: The first case is tried in both protocol versions, after two probes; each wait is at most ten seconds.
TIME_OUT_S = 180


def start(*arguments: str, folder: Path | None = None) -> subprocess.Popen[str]:
    environment = {**os.environ, **({"TMPDIR": str(folder)} if folder else {})}
    return subprocess.Popen(
        [sys.executable, "-m", "compat_tests", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def ended(process: subprocess.Popen[str], time_out_s: float = TIME_OUT_S) -> tuple[int, str]:
    output, _ = process.communicate(timeout=time_out_s)
    assert "Traceback" not in output
    return process.returncode, output


def judge(port: int, path: Path) -> dict[tuple[str, str], dict[str, object]]:
    process = start("bookie", "--address", f"127.0.0.1:{port}", "--json", str(path))
    code, output = ended(process)
    assert code == 1, output
    return {(result["case"], result["dialect"]): result for result in json.loads(path.read_text())["results"]}


def verdicts(results) -> set[str]:
    return {str(result["verdict"]) for key, result in results.items() if key[0] != "BKW-BASE-001"}


@pytest.mark.parametrize("serve", one_in(5, bad_servers.BAD), ids=lambda serve: serve.__name__)
def test_what_is_no_bookie(serve, tmp_path):
    with bad_servers.serving(serve) as port:
        results = judge(port, tmp_path / "run.json")
    bases = [results["BKW-BASE-001", dialect] for dialect in ("V2", "V3")]
    assert {base["verdict"] for base in bases} in ({"fail"}, {"fail", "unsupported"})
    assert all(base["seen"] for base in bases if base["verdict"] == "fail"), "the report says what came"
    assert verdicts(results) <= {"not-reached", "unsupported"}


def test_a_port_where_nobody_listens(tmp_path):
    results = judge(choose_port(), tmp_path / "run.json")
    assert "refused" in str(results["BKW-BASE-001", "V2"]["message"])
    assert verdicts(results) == {"not-reached"}


def children_of(pid: int) -> set[int]:
    """The processes that a process started, and those that these did."""
    found: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[1]) == pid:
            child = int(path.parent.name)
            found |= {child} | children_of(child)
    return found


BAD_DRIVERS = {
    "ends": "pass",
    "fails": "raise SystemExit('no such option')",
    "writes anything": "while True: print('anything')",
    "echoes": "import sys; [print(line, end='', flush=True) for line in sys.stdin]",
}


@pytest.mark.java
@pytest.mark.parametrize("code", one_in(2, BAD_DRIVERS.values()), ids=BAD_DRIVERS)
def test_what_is_no_driver(code, tmp_path):
    path = tmp_path / "run.json"
    assert ended(start("client", "--json", str(path), "--", sys.executable, "-c", code))[0] == 1
    results = {(each["case"], each["dialect"]): each for each in json.loads(path.read_text())["results"]}
    assert results["BKW-CBASE-001", "V2"]["verdict"] == "fail"
    assert {each["verdict"] for key, each in results.items() if key[0] != "BKW-CBASE-001"} == {"not-reached"}


@pytest.mark.java
@pytest.mark.full
def test_a_driver_that_says_nothing(tmp_path):
    silent = [sys.executable, "-c", "import time; time.sleep(1000)"]
    process = start("client", "--json", str(tmp_path / "run.json"), "--", *silent)
    code, output = ended(process, 120)
    assert code == 1
    assert "expected an answer within" in output


def ends_soon(pids: set[int]) -> bool:
    """Whether these processes end by themselves; the one that watches over the suite ends after it."""
    deadline = time.monotonic() + TIME_OUT_S
    while alive := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return not alive


@pytest.mark.java
@pytest.mark.parametrize(
    ("role", "name", "count"),
    one_in(3, [("bookie", "INT", 2), ("bookie", "TERM", 1), ("client", "INT", 1), ("client", "TERM", 2)]),
)
def test_an_interrupted_run_leaves_nothing(role, name, count):
    """Interrupted while ZooKeeper starts, its first child, or the target does, its second."""
    with tempfile.TemporaryDirectory() as folder:
        process = start(role, "--target", "ours", folder=Path(folder))
        deadline = time.monotonic() + TIME_OUT_S
        while len(started := children_of(process.pid)) < count and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.Signals[f"SIG{name}"])
        code, output = ended(process)
        assert code == 130, output
        assert ends_soon(started)
        assert not [path for path in Path(folder).rglob("*") if "hsperfdata" not in str(path)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--address HOST:PORT or --target"),
        (["--address", "localhost"], "localhost"),
        (["--target", "java:1.0"], "4.18.0"),
        (["--address", "127.0.0.1:1", "--html", "/"], "is a directory"),
        (["--address", "127.0.0.1:1", "--only", "BKW-RAED-*"], "BKW-RAED-*"),
        (["--address", "127.0.0.1:1", "--features", "/nonexistent.toml"], "/nonexistent.toml"),
    ],
)
def test_a_slip_in_the_options_is_named(arguments, said):
    code, output = ended(start("bookie", *arguments))
    assert code == 2
    assert said in output

"""Each kind of target serves at every site that it offers, keeps acknowledged entries, and leaves nothing."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import pytest

from compat_tests.targets.docker import daemon
from compat_tests.targets.process import StartFailed
from compat_tests.targets.sites import AUTH, READ_ONLY, SHARED_KINDS, TLS
from compat_tests.targets.target import NotOffered, Target, TargetOptions, parse
from protocol_specs.wire.status import ENOENTRY, ENOLEDGER, EOK, EREADONLY, EUA
from tests.integration.conformance.site_talk import SiteTalk

REPOSITORY = Path(__file__).parents[3]
DOCKER = (pytest.mark.docker, pytest.mark.full)


@pytest.fixture(autouse=True)
def own_temporary_directory(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the targets' files, in which the test sees any remains."""
    path = tmp_path_factory.mktemp("targets")
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    monkeypatch.setenv("TMPDIR", str(path))
    return path


def processes_in(path: Path) -> list[str]:
    """Command lines that name a file below ``path``, as those of all processes of targets do."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(path) in command and int(process.name) != os.getpid():
            found.append(command)
    return found


def mounts_in(path: Path) -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(path) in line]


def nothing_left_in(path: Path) -> bool:
    return not processes_in(path) and not mounts_in(path) and not list(path.iterdir())


def nothing_left_soon_in(path: Path) -> bool:
    deadline = time.monotonic() + 30
    while not nothing_left_in(path):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def serves_at_every_site(target: Target, kinds: tuple[str, ...] = SHARED_KINDS) -> None:
    for kind in kinds:
        site = target.site(kind)
        assert target.site(kind) == site
        assert site.bookie_id == f"{site.host}:{site.port}"
        assert (site.tls is not None, site.credentials is not None) == (TLS in kind, AUTH in kind)
        with SiteTalk(site) as talk:
            assert talk.read(1 << 40, 0) is ENOLEDGER
            assert talk.add(7, 0) is (EREADONLY if kind == READ_ONLY else EOK)
            assert talk.read(7, 0) is (ENOLEDGER if kind == READ_ONLY else EOK)
        if site.credentials is not None:
            site_without_login = type(site)(site.host, site.port, site.tls)
            with SiteTalk(site_without_login) as talk:
                assert talk.read(7, 0) is EUA


def keeps_entries(target: Target) -> None:
    with target.own() as bookie:
        with SiteTalk(bookie) as talk:
            assert talk.read(7, 0) is ENOLEDGER
            assert talk.add(7, 0) is EOK
        bookie.crash()
        with SiteTalk(bookie) as talk:
            assert talk.read(7, 0) is EOK
            assert talk.add(7, 1) is EOK
        bookie.restart()
        with SiteTalk(bookie) as talk:
            assert talk.read(7, 0) is EOK
            assert talk.read(7, 1) is EOK
            assert talk.read(7, 2) is ENOENTRY


def test_ours(own_temporary_directory: Path) -> None:
    with parse("ours") as target:
        assert target.cluster is None
        serves_at_every_site(target)
        keeps_entries(target)
        with target.own() as another, SiteTalk(another) as talk:
            assert talk.read(7, 0) is ENOLEDGER
    assert nothing_left_in(own_temporary_directory)


@pytest.mark.full
@pytest.mark.java
def test_ours_in_a_zookeeper(own_temporary_directory: Path) -> None:
    with parse("ours", TargetOptions(with_metadata=True)) as target:
        plain, read_only = target.site("plain"), target.site("read-only")
        assert target.cluster is not None
        assert target.cluster.writable_ids() == [plain.bookie_id]
        assert target.cluster.read_only_ids() == [read_only.bookie_id]
        with target.own() as own:
            assert own.cluster is not None
            assert own.cluster.writable_ids() == [own.bookie_id]
            own.kill()
            assert own.cluster.writable_ids() == []
            own.start()
    assert nothing_left_in(own_temporary_directory)


def test_our_bookie_by_another_launcher(own_temporary_directory: Path) -> None:
    launcher = own_temporary_directory / "launch.py"
    launcher.write_text(
        "import sys, os, signal, threading\n"
        "assert sys.argv[1:3] == ['no-change', '--']\n"
        "del sys.argv[1:3]\n"
        "threading.Thread(target=lambda: (os.read(0, 1), os.kill(os.getpid(), signal.SIGTERM)), daemon=True).start()\n"
        "from twisted.scripts.twistd import run; run()\n"
    )
    with parse("ours", TargetOptions(launcher=(sys.executable, str(launcher), "no-change", "--"))) as target:
        assert str(launcher) in target.how
        with SiteTalk(target.site("plain")) as talk:
            assert talk.read(7, 0) is ENOLEDGER
    launcher.unlink()
    assert nothing_left_in(own_temporary_directory)


def test_a_launcher_that_fails(own_temporary_directory: Path) -> None:
    launcher = (sys.executable, "-c", "raise SystemExit('this cannot be launched')")
    with parse("ours", TargetOptions(launcher=launcher)) as target:
        for _ in range(2):
            with pytest.raises(StartFailed, match="this cannot be launched"):
                target.site("plain")
        with pytest.raises(StartFailed, match="this cannot be launched"), target.own():
            pass
    assert nothing_left_in(own_temporary_directory)


@pytest.mark.full
@pytest.mark.releases(since="4.18")
def test_java_by_its_jars(java_release: str, own_temporary_directory: Path) -> None:
    with parse(f"java:{java_release}") as target:
        serves_at_every_site(target)
        keeps_entries(target)
        assert target.cluster is not None
        assert len(target.cluster.writable_ids()) == len(SHARED_KINDS) - 1
    assert nothing_left_in(own_temporary_directory)


@pytest.mark.full
@pytest.mark.releases(since="4.18")
def test_java_with_another_storage(java_release: str, own_temporary_directory: Path) -> None:
    with parse(f"java:{java_release}/db") as target:
        assert "DbLedgerStorage" in target.how
        keeps_entries(target)
    assert nothing_left_in(own_temporary_directory)


@pytest.mark.full
@pytest.mark.docker
@pytest.mark.releases(since="4.18")
def test_java_in_docker(java_release: str, own_temporary_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sockets = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(daemon, "SOCKETS", sockets / "d")
    with parse(f"docker:{java_release}") as target:
        serves_at_every_site(target, ("plain", "tls+auth"))
        keeps_entries(target)
        # It depends on the machine which of the two it is; the report has to say it.
        official = f"the official image apache/bookkeeper:{java_release}" in target.how
        local = "a local image over" in target.how and "not the official image" in target.how
        assert official != local, target.how
    # The daemon's own helpers notice its end, and end too.
    assert nothing_left_soon_in(own_temporary_directory)
    assert nothing_left_soon_in(sockets)
    sockets.rmdir()


CONTROL = """
import json, os, signal, subprocess, sys, time
from pathlib import Path
from compat_tests.targets.ports import choose_port
word, name = sys.argv[2:]
folder = Path(sys.argv[1]) / name
folder.mkdir(exist_ok=True)
log, pid, port = folder / "log", folder / "pid", folder / "port"
if word == "start":
    words = ["bookie", "--metadata", f"sqlite://{folder}/db", "--data", str(folder / "data")]
    words += ["--port", port.read_text() if port.exists() else str(choose_port())]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "twisted", *words], stdout=output, stderr=output, start_new_session=True
        )
    while b"listening on" not in log.read_bytes():
        if process.poll() is not None:
            sys.exit(log.read_text())
        time.sleep(0.05)
    address = log.read_text().split("listening on ")[1].split()[0]
    port.write_text(address.rpartition(":")[2])
    pid.write_text(str(process.pid))
    print("it serves at", address, sep="\\n")
elif pid.exists():
    os.kill(int(pid.read_text()), signal.SIGTERM if word == "stop" else signal.SIGKILL)
    status = Path(f"/proc/{pid.read_text()}/stat")
    while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.05)
    pid.unlink()
if word == "remove":
    __import__("shutil").rmtree(folder)
"""


def test_an_address_with_a_control_command(own_temporary_directory: Path) -> None:
    script = own_temporary_directory / "control.py"
    script.write_text(CONTROL)
    command = f"{sys.executable} {script} {own_temporary_directory}"
    with parse("ours") as ours:
        sites = {kind: ours.site(kind) for kind in SHARED_KINDS}
        address = {kind: f"{site.host}:{site.port}" for kind, site in sites.items()}
        tls, credentials = sites["tls"].tls, sites["auth"].credentials
        assert tls is not None
        assert credentials is not None
        options = TargetOptions(
            read_only_address=address["read-only"],
            tls_address=address["tls"],
            tls_ca=tls.ca,
            tls_certificate=tls.certificate,
            tls_key=tls.key,
            auth_address=address["auth"],
            auth_user=credentials[0],
            auth_password=credentials[1],
            tls_auth_address=address["tls+auth"],
            control=command,
        )
        with parse(address["plain"], options) as target:
            serves_at_every_site(target)
            keeps_entries(target)
    script.unlink()
    assert nothing_left_in(own_temporary_directory)


def test_a_control_command_that_says_no(own_temporary_directory: Path) -> None:
    script = own_temporary_directory / "control.sh"
    script.write_text('[ "$1" != start ] || { echo "no more bookies" >&2; exit 1; }\n')
    target = parse("127.0.0.1:1", TargetOptions(control=f"sh {script}"))
    with target, pytest.raises(StartFailed, match="no more bookies"), target.own():
        pass
    with parse("127.0.0.1:1") as target, pytest.raises(NotOffered, match="--control"), target.own():
        pass


INTERRUPTED = """
import sys, time
from compat_tests.targets.target import TargetOptions, parse
with parse(sys.argv[1], TargetOptions(with_metadata=True)) as target:
    target.site("plain")
    print("plain", flush=True)
    with target.own() as own:
        print("serving", flush=True)
        own.restart()
        time.sleep(60)
"""


MOMENTS = ["", "plain", "serving"]
"""A word that it has printed; nothing: while it starts."""

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
INTERRUPTIONS = list(product(["ours", "java:4.18.0"], MOMENTS, SIGNALS))
USUAL = INTERRUPTIONS[:1]
"""In the plain run."""


def _mind_signals() -> None:
    """Handle signals as at a terminal: the test process may ignore some of them, and children inherit that."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.java
@pytest.mark.parametrize(
    ("name", "at", "number"),
    [pytest.param(*each, marks=() if each in USUAL else pytest.mark.full) for each in INTERRUPTIONS],
)
def test_interrupted(name: str, at: str, number: signal.Signals, own_temporary_directory: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, name],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=REPOSITORY,
        preexec_fn=_mind_signals,
    )
    assert process.stdout is not None
    if not at:  # while it starts: when it has files, and no site yet
        while not list(own_temporary_directory.iterdir()):
            time.sleep(0.05)
    for line in process.stdout if at else ():
        if line.strip() == at:
            break
    process.send_signal(number)
    assert process.wait(60) != 0
    process.stdout.close()
    assert nothing_left_in(own_temporary_directory)


KILLED = """
import os, signal, sys
from compat_tests.targets.target import TargetOptions, parse
with parse(sys.argv[1], TargetOptions(with_metadata=True)) as target:
    target.site("plain")
    with target.own():
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.java
@pytest.mark.parametrize(
    "name",
    ["ours", pytest.param("java:4.18.0", marks=pytest.mark.full), pytest.param("docker:4.18.0", marks=DOCKER)],
)
def test_killed(name: str, own_temporary_directory: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, name], stderr=subprocess.PIPE, text=True, cwd=REPOSITORY, check=False
    )
    if "Unavailable" in killed.stderr:
        pytest.skip(f"not checked here: {killed.stderr.splitlines()[-1]}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert nothing_left_soon_in(own_temporary_directory)

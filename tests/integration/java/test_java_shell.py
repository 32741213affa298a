"""Java's shell and ours on the same files: what each of them says, and what each makes of them."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.testing.local_cluster import LocalBookie
from compat_tests.targets.cluster import Cluster
from tests.cli.bktx_process import bktx
from tests.cli.bookie.bookie_files import objects
from tests.cli.bookie.bookie_files import run as run_here
from tests.integration.support import raw_requests
from tests.integration.support.java_shell import JavaShell, places
from tests.integration.support.our_client import OurClient, append
from tests.sampling import only

#: Older releases say the same in sentences of their own.
pytestmark = [pytest.mark.java, pytest.mark.releases(since="4.18")]

SETTINGS = {"skipListSizeLimit": 1 << 20, "logSizeLimit": 1 << 20, "journalMaxSizeMB": 1}
PASSWORD = b"secret"

WRITERS = only("ours", ["ours", "java"])
"""Who wrote the files."""


@frozen
class Files:
    """The files of a bookie that has stopped."""

    shell: JavaShell
    cluster: Cluster
    bookie_id: str
    data: Path
    journal: Path
    ledger_ids: tuple[int, ...]

    def ours(self, *arguments: object) -> list[dict[str, Any]]:
        """Run a command of ours that needs no metadata store."""
        return objects(*arguments, "--data", self.data, "--journal-dir", self.journal)

    def process(self, *arguments: object) -> str:
        """Run any command of ours."""
        done = bktx("bookie", *map(str, arguments), BKTX_METADATA=self.cluster.uri)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    @property
    def directories(self) -> list[object]:
        return ["--data", self.data, "--journal-dir", self.journal]


def said(text: str, logger: str, what: str) -> list[dict[str, str]]:
    """Return the values in the lines of Java's log that begin like this."""
    lines = re.findall(rf"^{logger} - {re.escape(what)} \{{(.*)\}}$", text, re.MULTILINE)
    return [dict(re.findall(r"(\w+)=([^,]*)", line)) for line in lines]


def entries_said(text: str) -> list[tuple[int, int, int, int]]:
    """Return ledger, entry id, place and size, length word included, of each record that Java has shown."""
    found = [each for each in said(text, "FormatUtil", "Entry") if "position" in each]
    return [
        (int(each["ledgerId"]), int(each["entryId"]), int(each["position"]), int(each["entrySize"]) + 4)
        for each in found
    ]


def entries_shown(records: list[dict[str, Any]]) -> list[tuple[int, int, int, int]]:
    return [(each["ledger_id"], each["entry_id"], each["offset"], each["size"]) for each in records]


@pytest.fixture
def files(
    request: pytest.FixtureRequest,
    java_release: str,
    cluster: Cluster,
    java_bookie: Callable[..., Any],
    tmp_path: Path,
) -> Files:
    """Three ledgers, the first of them fenced, in several entry logs and journals; the bookie is stopped."""
    data, journal = tmp_path / "bookie" / "data", tmp_path / "bookie" / "journal"
    options = {"journal_dir": journal, "ledger_dir": data, "settings": SETTINGS}
    if request.param == "java":
        running = java_bookie(java_release, **options)
        port = running.port
    else:
        running = LocalBookie(tmp_path / "bookie", cluster.uri, SETTINGS, ["--journal-dir", str(journal)])
        running.launch()
        running.wait_until_ready()
        port = running.port
    with OurClient(cluster.uri) as ours:
        writers = [ours.create_ledger(), ours.create_ledger(password=PASSWORD), ours.create_ledger()]
        for writer, count in zip(writers, (5, 3000, 1), strict=True):
            append(writer, [b"%d" % each * 200 for each in range(count)])
        raw_requests.fence(port, writers[0].ledger_id)
    running.stop()
    configuration = {"bookiePort": port, **places(cluster.uri, journal, data)}
    shell = JavaShell(java_release, tmp_path / "shell", configuration)
    ledger_ids = tuple(each.ledger_id for each in writers)
    return Files(shell, cluster, running.bookie_id, data, journal, ledger_ids)


@pytest.mark.full
@pytest.mark.parametrize("files", WRITERS, indirect=True)
def test_both_say_the_same_of_journals(files: Files) -> None:
    (mark,) = files.ours("lastmark")
    where = f"Journal Id - {mark['journal_id']}({mark['journal_id']:x}.txn), Pos - {mark['offset']}"
    assert where in files.shell.run("lastmark")
    for path in sorted(files.journal.rglob("*.txn")):
        found = files.ours("journal", path)
        assert entries_said(files.shell.run("readjournal", path.name)) == entries_shown(found)
        assert found or path.stem == f"{mark['journal_id']:x}"


@pytest.mark.full
@pytest.mark.parametrize("files", WRITERS, indirect=True)
def test_both_say_the_same_of_entry_logs(files: Files) -> None:
    logs = [path for path in sorted(files.data.rglob("*.log")) if path.stat().st_size > 1024]
    assert len(logs) > 1
    ledger_id = files.ledger_ids[1]
    for path in (logs[0], logs[-1]):
        found = [each for each in files.ours("entrylog", path) if each["kind"] == "entry"]
        log_id = int(path.stem, 16)
        assert entries_said(files.shell.run("readlog", log_id)) == entries_shown(found)
        sizes = said(files.shell.run("readlogmetadata", log_id), "ReadLogMetadataCommand", "Size of ledger's entries")
        assert {(int(each["ledgerId"]), int(each["size"])) for each in sizes} == {
            (each["ledger_id"], each["size"]) for each in files.ours("entrylog", "--ledgers", path)
        }
    (one,) = files.ours("entrylog", logs[0], "--ledger-id", ledger_id, "--entry-id", 7)
    by_entry = files.shell.run("readlog", "-l", ledger_id, "-e", 7, int(logs[0].stem, 16))
    by_place = files.shell.run("readlog", "-sp", one["offset"], "-ep", one["offset"] + 1, int(logs[0].stem, 16))
    assert entries_said(by_entry) == entries_said(by_place) == entries_shown([one])


@pytest.mark.full
@pytest.mark.parametrize("files", WRITERS, indirect=True)
def test_both_say_the_same_of_indexes_and_files(files: Files) -> None:
    for ledger_id in files.ledger_ids[:2]:
        text = files.shell.run("ledger", ledger_id)
        theirs = re.findall(r"^entry (\d+)\t:\t\(log:(\d+), pos: (\d+)\)$", text, re.MULTILINE)
        header, *ours = files.ours("index", ledger_id, "--locations")
        assert [tuple(map(int, each)) for each in theirs] == [
            (each["entry_id"], each["log_id"], each["offset"] + 4) for each in ours
        ]
        assert header["fenced"] is (ledger_id == files.ledger_ids[0])
    listed = said(files.shell.run("listfilesondisc", "-txn", "-log", "-idx"), "ListFilesOnDiscCommand", "log entry")
    assert {each["canonicalPath"] for each in listed} == {each["path"] for each in files.ours("listfilesondisc")}
    checked = files.shell.run("localconsistencycheck")
    assert "=== Check passed ===" in checked
    (counts,) = files.ours("consistency")
    assert counts["faults"] == 0
    (theirs_checked,) = said(
        checked,
        "InterleavedLedgerStorage",
        "Finished localConsistencyCheck, took s to scan ledgers, pages, entries with retries, errors",
    )
    assert int(theirs_checked["checkedLedgers"]) == counts["ledgers"]


@pytest.mark.full
@pytest.mark.parametrize("files", WRITERS, indirect=True)
def test_both_find_an_entry_that_is_lost(files: Files) -> None:
    """Java's check reads the first bytes of each entry; ours finds one that is cut short behind them, too."""
    last = [each for each in files.ours("entrylog") if each["kind"] == "entry"][-1]
    for missing, found_by_java in ((1, False), (last["size"] - 8, True)):
        with Path(last["path"]).open("r+b") as log:
            log.truncate(last["offset"] + last["size"] - missing)
        result = run_here("consistency", *files.directories, "--json")
        assert result.exit_code == 1
        fault, counts = map(json.loads, result.stdout.splitlines())
        assert (fault["entry_id"], counts["faults"]) == (last["entry_id"], 1)
        text = files.shell.run("localconsistencycheck", exit_code=None)
        assert ("=== Check passed ===" not in text) is found_by_java


@pytest.mark.full
@pytest.mark.parametrize("files", WRITERS, indirect=True)
def test_indexes_of_both_shells_are_the_same(files: Files, tmp_path: Path) -> None:
    ledger_id = files.ledger_ids[1]
    index = Path(files.ours("index", ledger_id)[0]["path"])
    before = index.read_bytes()
    index.unlink()
    (tmp_path / "password").write_bytes(PASSWORD)
    password = ["--password-file", tmp_path / "password"]
    files.process("regenerate-index", *files.directories, ledger_id, *password)
    ours = index.read_bytes()
    index.unlink()
    files.shell.run("regenerate-interleaved-storage-index-file", "-password", PASSWORD.decode(), "-l", ledger_id)
    theirs = index.read_bytes()
    # Neither knows whether the ledger was fenced, so both fence it.
    assert ours == theirs
    assert ours[1024:] == before[1024:]
    assert ours[:32] == before[:32]


@pytest.mark.full
@pytest.mark.parametrize("files", WRITERS, indirect=True)
def test_cookies_of_both_shells_are_the_same(files: Files, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    files.process("cookie", "generate", files.bookie_id, *files.directories, "--output", ours)
    files.shell.run("cookie_generate", "-j", files.journal, "-l", files.data, "-o", theirs, files.bookie_id)
    stored = (files.data / "current" / "VERSION").read_bytes()
    assert ours.read_bytes() == theirs.read_bytes() == stored
    assert files.process("cookie", "show", files.bookie_id).encode() == stored
    files.shell.run("cookie_delete", files.bookie_id)
    files.process("cookie", "create", files.bookie_id, "--file", theirs)
    assert stored.decode() in files.shell.run("cookie_get", files.bookie_id)
    files.process("cookie", "delete", files.bookie_id, "--yes")
    files.shell.run("cookie_create", "-cf", ours, files.bookie_id)
    assert files.process("cookie", "show", files.bookie_id).encode() == stored
    other = tmp_path / "other"
    other.write_bytes(stored.replace(b"/journal", b"/another"))
    assert other.read_bytes() != stored
    files.shell.run("cookie_update", "-cf", other, files.bookie_id)
    assert files.process("cookie", "show", files.bookie_id).encode() == other.read_bytes()
    files.process("cookie", "update", files.bookie_id, "--file", theirs)
    assert stored.decode() in files.shell.run("cookie_get", files.bookie_id)


@pytest.mark.full
@pytest.mark.parametrize("files", WRITERS, indirect=True)
def test_formats_of_both_shells_leave_no_file_of_a_bookie(files: Files, tmp_path: Path) -> None:
    """Java's deletes everything in the configured directories, ours what is below ``current``."""
    copy, cookie = tmp_path / "copy", tmp_path / "cookie"
    shutil.copytree(files.data.parent, copy)
    files.process("cookie", "generate", files.bookie_id, *files.directories, "--output", cookie)
    files.process("format", *files.directories, "--force", "--delete-cookie")
    assert {path.name for path in (*files.data.rglob("*"), *files.journal.rglob("*"))} == {"current", "bookie.lock"}
    shutil.rmtree(files.data.parent)
    copy.rename(files.data.parent)
    files.process("cookie", "create", files.bookie_id, "--file", cookie)
    files.shell.run("bookieformat", "-nonInteractive", "-force", "-deleteCookie")
    assert [*files.data.rglob("*"), *files.journal.rglob("*")] == []
    assert bktx("bookie", "cookie", "show", files.bookie_id, BKTX_METADATA=files.cluster.uri).returncode == 1


@pytest.mark.full
def test_both_find_a_java_bookie_sane(
    java_release: str, cluster: Cluster, java_bookie: Callable[..., Any], tmp_path: Path
) -> None:
    java = java_bookie(java_release, journal_dir=tmp_path / "journal", ledger_dir=tmp_path / "data")
    shell = JavaShell(java_release, tmp_path / "shell", java.configuration())
    shell.run("bookiesanity", "-e", 5)
    done = bktx("bookie", "sanity", "--data", str(tmp_path / "data"), "--json", BKTX_METADATA=cluster.uri)
    assert json.loads(done.stdout)["bookie_id"] == java.bookie_id
    # It takes no lock, but is known by the files that it writes.
    error = run_here("consistency", "--data", tmp_path / "data", "--journal-dir", tmp_path / "journal").exception
    assert f"process {java.process.pid} writes {tmp_path}" in str(error)
    refused = bktx("bookie", "cookie", "delete", java.bookie_id, "--yes", BKTX_METADATA=cluster.uri)
    assert b"is registered: stop it first" in refused.stderr
    shell.run("cookie_delete", java.bookie_id)

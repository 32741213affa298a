"""``bktx bookie``: commands on the files of bookies of ours, and what these serve afterwards."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.testing.local_cluster import BookieFailed, LocalBookie
from tests.cli.bktx_process import bktx
from tests.cli.bookie.bookie_files import objects
from tests.integration.support.our_client import OurClient, append, poll, read

SETTINGS = {"skipListSizeLimit": 1 << 20, "logSizeLimit": 1 << 20, "journalMaxSizeMB": 1}
PAYLOADS = [b"%d" % each * 300 for each in range(1500)]


@pytest.fixture
def bookie(tmp_path: Path) -> Iterator[LocalBookie]:
    running = LocalBookie(tmp_path / "bookie", f"sqlite:///{tmp_path}/metadata.db", SETTINGS, [])
    start(running)
    yield running
    running.kill()


def start(bookie: LocalBookie) -> None:
    bookie.launch()
    bookie.wait_until_ready()


def uri_of(bookie: LocalBookie) -> str:
    return f"sqlite:///{bookie.directory.parent}/metadata.db"


def data_of(bookie: LocalBookie) -> Path:
    return bookie.directory / "data"


def run(bookie: LocalBookie, command: str, *arguments: object, exit_code: int = 0, **variables: str) -> bytes:
    done = bktx("bookie", *command.split(), *map(str, arguments), BKTX_METADATA=uri_of(bookie), **variables)
    assert done.returncode == exit_code, (done.stdout[-2000:], done.stderr.decode())
    return done.stdout + done.stderr


def told(bookie: LocalBookie, command: str, *arguments: object) -> dict[str, Any]:
    """Return the object that a command prints; standard error may say the same in words."""
    found: dict[str, Any] = json.loads(run(bookie, command, *arguments, "--json").splitlines()[0])
    return found


def on_files(bookie: LocalBookie, command: str, *arguments: object) -> list[dict[str, Any]]:
    """Run a command that needs no metadata store, in this process."""
    return objects(command, *arguments, "--data", data_of(bookie))


def write(bookie: LocalBookie) -> list[int]:
    """Write two ledgers, with entries in entry logs and in the journal; return their ids."""
    with OurClient(uri_of(bookie)) as ours:
        ledgers = [ours.create_ledger(password=b"secret") for _ in range(2)]
        for each in ledgers:
            append(each, PAYLOADS)
        return [each.ledger_id for each in ledgers]


def check(bookie: LocalBookie, ledger_ids: list[int]) -> None:
    with OurClient(uri_of(bookie)) as ours:
        for ledger_id in ledger_ids:
            reader = ours.open_ledger(ledger_id, password=b"secret")
            assert read(reader, 0, reader.last_add_confirmed) == PAYLOADS


def test_a_killed_bookie_is_looked_at_and_its_lost_indexes_are_made_anew(bookie: LocalBookie) -> None:
    ledger_ids = write(bookie)
    assert b"stop it first" in run(bookie, "consistency --data", data_of(bookie), exit_code=1)
    bookie.kill()
    for ledger_id in ledger_ids:
        found = on_files(bookie, "ledger", ledger_id)
        assert {each["entry_id"] for each in found} == set(range(len(PAYLOADS)))
    logged = [each for each in on_files(bookie, "entrylog") if each["kind"] == "entry"]
    counts = on_files(bookie, "consistency")[-1]
    assert counts["faults"] == 0
    assert counts["entries"] == len(logged) > 0

    indexes = list(data_of(bookie).rglob("*.idx"))
    assert indexes
    for path in indexes:
        path.unlink()
    lines = run(bookie, "rebuild-index --json --data", data_of(bookie)).splitlines()
    rebuilt = [json.loads(line) for line in lines if line.startswith(b"{")]
    assert sum(each["entries_found"] for each in rebuilt) == len(logged)
    assert on_files(bookie, "consistency")[-1] == {**counts, "ledgers": len(rebuilt)}
    start(bookie)
    check(bookie, ledger_ids)


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_without_any_index_it_does_not_start_until_they_are_made_anew(bookie: LocalBookie, how: str) -> None:
    ledger_ids = write(bookie)
    assert bookie.stop() == 0
    start(bookie)
    with OurClient(uri_of(bookie)) as ours:
        # Of the one the journal has the end only, of the other all.
        writer = ours.create_ledger(password=b"secret")
        append(writer, PAYLOADS[:1000])
        poll(lambda: any(data_of(bookie).rglob(f"{writer.ledger_id}.idx")))
        append(writer, PAYLOADS[1000:])
        ledger_ids.append(writer.ledger_id)
        ledger_ids += [ours.create_ledger(password=b"secret").ledger_id]
    if how == "stopped":
        assert bookie.stop() == 0
    else:
        bookie.kill()
    for path in data_of(bookie).rglob("*.idx"):
        path.unlink()
    for _ in range(2):
        with pytest.raises(BookieFailed, match=r"no ledger has an index here, .* bktx bookie rebuild-index"):
            start(bookie)
    run(bookie, "rebuild-index --data", data_of(bookie))
    start(bookie)
    check(bookie, ledger_ids[:-1])


@pytest.mark.full
def test_the_index_of_a_deleted_ledger_is_not_made(bookie: LocalBookie) -> None:
    kept, deleted = write(bookie)
    assert bookie.stop() == 0
    bktx("ledger", "delete", str(deleted), "--yes", BKTX_METADATA=uri_of(bookie))
    for path in data_of(bookie).rglob("*.idx"):
        path.unlink()
    shown = run(bookie, "rebuild-index --data", data_of(bookie))
    assert f"ledger {deleted}: left out, for it is deleted; 1,500 entries are garbage".encode() in shown
    start(bookie)
    check(bookie, [kept])


@pytest.mark.full
def test_a_store_of_another_cluster_says_nothing_of_what_is_deleted(bookie: LocalBookie, tmp_path: Path) -> None:
    write(bookie)
    assert bookie.stop() == 0
    other = LocalBookie(tmp_path / "other", f"sqlite:///{tmp_path}/other/metadata.db", SETTINGS, [])
    other.directory.mkdir()
    start(other)
    assert other.stop() == 0
    indexes = list(data_of(bookie).rglob("*.idx"))
    for path in indexes:
        path.unlink()
    of_other = f"sqlite:///{tmp_path}/other/metadata.db"
    done = bktx("bookie", "rebuild-index", "--data", str(data_of(bookie)), "--metadata", of_other)
    assert done.returncode == 1
    assert b"is of another cluster than bookie" in done.stderr
    assert b"left out, for it is deleted" not in done.stderr
    assert not list(data_of(bookie).rglob("*.idx*"))
    (data_of(bookie) / "current" / "VERSION").unlink()
    assert b"there is no cookie in" in run(bookie, "rebuild-index --data", data_of(bookie), exit_code=1)


@pytest.mark.full
def test_a_bookie_that_runs_is_sane(bookie: LocalBookie) -> None:
    shown = run(bookie, "sanity --data", data_of(bookie), "--entries", 50)
    assert f"bookie {bookie.bookie_id} is sane: 50 entries in ledger".encode() in shown
    (done,) = [json.loads(run(bookie, "sanity --json --protocol v3 --bookie-id", bookie.bookie_id))]
    assert done["bookie_id"] == bookie.bookie_id
    assert bktx("ledger", "list", "--json", BKTX_METADATA=uri_of(bookie)).stdout == b""
    bookie.stop()
    shown = run(bookie, "sanity --data", data_of(bookie), exit_code=1)
    assert b"is not registered as writable: start it first" in shown


@pytest.mark.full
def test_directories_are_formatted_and_the_cookie_is_deleted(bookie: LocalBookie) -> None:
    write(bookie)
    assert b"stop it first" in run(bookie, "format --force --data", data_of(bookie), exit_code=1)
    bookie.stop()
    run(bookie, "format --force --data", data_of(bookie))
    with pytest.raises(BookieFailed, match="there is no cookie"):
        start(bookie)
    shown = run(bookie, "format --force --delete-cookie --data", data_of(bookie), exit_code=1)
    assert b"name the bookie by its id" in shown
    again = ["--bookie-id", bookie.bookie_id, "--data", data_of(bookie)]
    for is_there in (True, False):
        assert told(bookie, "format --force --delete-cookie", *again)["cookie_deleted"] is is_there
    start(bookie)


@pytest.mark.full
def test_a_bookie_moves_to_another_directory_by_its_cookie(bookie: LocalBookie, tmp_path: Path) -> None:
    ledger_ids = write(bookie)
    assert b"is registered: stop it first" in run(bookie, "cookie delete --yes", bookie.bookie_id, exit_code=1)
    bookie.stop()
    before = json.loads(run(bookie, "cookie show --json", bookie.bookie_id))
    moved = LocalBookie(tmp_path / "moved", uri_of(bookie), SETTINGS, [])
    moved.port = bookie.port
    shutil.copytree(data_of(bookie), data_of(moved))
    with pytest.raises(BookieFailed, match="ledger directories"):
        start(moved)

    cookie = tmp_path / "cookie"
    run(bookie, "cookie generate", bookie.bookie_id, "--data", data_of(moved), "--output", cookie)
    assert b"already" in run(bookie, "cookie create", bookie.bookie_id, "--file", cookie, exit_code=1)
    updated = told(bookie, "cookie update", bookie.bookie_id, "--file", cookie)
    shutil.copy(cookie, data_of(moved) / "current" / "VERSION")
    after = json.loads(run(bookie, "cookie show --json", bookie.bookie_id))
    assert after == updated
    assert after["ledger_directories"] == [str(data_of(moved))]
    assert after["instance_id"] == before["instance_id"]
    try:
        start(moved)
        check(moved, ledger_ids)
        moved.stop()
    finally:
        moved.kill()
    deleted = told(bookie, "cookie delete --yes", bookie.bookie_id)
    assert deleted == {"bookie_id": bookie.bookie_id, "version": after["version"]}
    assert b"has no cookie" in run(bookie, "cookie show", bookie.bookie_id, exit_code=1)
    created = told(bookie, "cookie create", bookie.bookie_id, "--file", cookie)
    assert created == told(bookie, "cookie show", bookie.bookie_id)
    assert run(bookie, "cookie show", bookie.bookie_id) == cookie.read_bytes()

"""The operation that the floor plan adds, as a reader would: in a copy of the tree, with a bookie of that copy."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.bktx_process import environment

ROOT = Path(__file__).parent.parent.parent.parent
BLOCK = re.compile(r"^```diff\n (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES_MAX = 9

PROGRAM = """
import asyncio, sys
from pathlib import Path
from twisted.internet.task import react
import bookkeeper_tx
from bookkeeper_tx import aio, blocking
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.testing.local_cluster import LocalCluster

assert bookkeeper_tx.__file__.startswith(sys.argv[1])
one = {"ensemble_size": 1, "write_quorum_size": 1, "ack_quorum_size": 1}
with LocalCluster(Path(sys.argv[1], "cluster"), 1) as cluster:
    bookie = cluster.bookies[0].bookie_id
    with blocking.BookKeeper(cluster.metadata_uri) as bk:
        writer = bk.create_ledger(**one)
        writer.append(b"payload")
        ledger_id = writer.ledger_id
        print(bk.is_fenced(ledger_id, bookie))
        bk.open_ledger(ledger_id)

    async def on_asyncio():
        async with aio.BookKeeper(cluster.metadata_uri) as bk:
            print(await bk.is_fenced(ledger_id, bookie))
            try:
                await bk.is_fenced(77, bookie)
            except NoSuchLedger as error:
                print(error)

    asyncio.run(on_asyncio())

    async def on_twisted(reactor):
        async with bookkeeper_tx.BookKeeper(cluster.metadata_uri) as bk:
            print(await bk.is_fenced(ledger_id, bookie))

    try:
        react(on_twisted)
    except SystemExit as end:
        assert end.code == 0
"""


def blocks():
    return BLOCK.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))


def added(text, block):
    """Return ``text`` with what a block adds, each piece after the lines that the block shows before it."""
    at = 0
    for piece in block.split(" …\n"):
        lines = piece.splitlines()
        for mark, group in _groups(lines):
            content = "".join(f"{line[1:]}\n" for line in group)
            if mark == "+":
                text = text[:at] + content + text[at:]
                at += len(content)
            else:
                found = text.find(content, at)
                assert found >= 0, f"not in the file, or not in this place: {content}"
                assert not group or found == 0 or text[found - 1] == "\n"
                at = found + len(content)
    return text


def _groups(lines):
    groups = []
    for line in lines:
        mark = line[:1] or " "
        if not groups or groups[-1][0] != mark:
            groups.append((mark, []))
        groups[-1][1].append(line)
    return groups


def test_it_is_few_files():
    assert len({path for path, _ in blocks()}) == len(blocks()) == FILES_MAX


def test_what_a_block_shows_must_be_there():
    assert added("a\nb\nc\n", " a\n+x\n …\n c\n+y\n") == "a\nx\nb\nc\ny\n"
    with pytest.raises(AssertionError, match="not in the file"):
        added("a\nb\n", " b\n+x\n …\n a\n+y\n")


@pytest.mark.slow
def test_each_face_asks_a_bookie_for_it(tmp_path, proto_compiler):
    for package in ("bookkeeper_tx", "protocol_specs", "compat_tests", "twisted"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path, block in blocks():
        file = tmp_path / path
        assert file.exists() == block.startswith(" "), path
        file.write_text(added(file.read_text() if file.exists() else "", block))
    python = {"cwd": tmp_path, "check": True, "env": {**environment(), "PYTHONPATH": str(tmp_path)}}
    compile_them = [sys.executable, "-m", "protocol_specs.compile_protos", "--tools", str(proto_compiler)]
    subprocess.run(compile_them, timeout=240, **python)
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], timeout=240, capture_output=True, **python)
    assert run.stdout.decode().splitlines()[:2] == ["False", "True"]
    refused, on_twisted = run.stdout.decode().splitlines()[2:]
    assert refused.startswith("fence of ledger 77 on bookie ")
    assert on_twisted == "True"

"""Programs without a reactor get none: opening and using the blocking store loads no Twisted."""

import subprocess
import sys
from pathlib import Path

import pytest

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.metadata.sqlite.tables import Tables

USE = """
import sys
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
with open_blocking_store(sys.argv[1]) as store:
    ledger_id = store.new_ledger_id()
    created = store.create_ledger(ledger_id, LedgerMetadata(1, 1, 1, [Fragment(0, ("a:1",))], DigestType.CRC32C, b""))
    store.write_ledger(ledger_id, created.metadata.with_close(-1, 0), 0)
    assert [each for each, _ in store.read_ledgers(store.list_ledgers(None))] == [ledger_id]
    store.writable_bookies(), store.read_only_bookies(), store.cookie_bookies(), store.instance_id()
    store.create_document(("a", "b"), b"x"), store.list_documents(()), store.delete_document(("a", "b"))
    store.delete_ledger(ledger_id)
import bookkeeper_tx.metadata.blocking.zookeeper, bookkeeper_tx.metadata.blocking.etcd
print(sorted({name.partition(".")[0] for name in sys.modules} & {"twisted", "zope", "automat"}))
"""


def modules_loaded_by_use(uri: str) -> str:
    """Let a process use the store; return the modules of Twisted that it has loaded, as the text of a list."""
    done = subprocess.run(
        [sys.executable, "-c", USE, uri], capture_output=True, text=True, cwd=Path(__file__).parents[3], check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_twisted_is_loaded(tmp_path: Path) -> None:
    Tables(str(tmp_path / "meta.sqlite")).create()
    assert modules_loaded_by_use(f"sqlite://{tmp_path}/meta.sqlite") == "[]"


def test_a_uri_that_names_no_store() -> None:
    with pytest.raises(InvalidConfig, match="consul"):
        open_blocking_store("consul://localhost:2379/ledgers")

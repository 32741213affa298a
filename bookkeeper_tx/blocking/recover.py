"""Recovery for programs without a reactor: a child process with the client on Twisted does it.

Recovery fences the writer of a ledger, so that nothing is added any more, and closes the ledger at its last entry.
"""

import base64
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable

from bookkeeper_tx import errors
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookKeeperError, RemoteError, RequestTimedOut
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import DigestType, LedgerMetadata, ledger_name

CHILD = "bookkeeper_tx.cli.recover_ledgers"


def recover_ledger(
    uri: str,
    ledger_id: int,
    password: bytes,
    digest_type: DigestType = DigestType.CRC32C,
    timeout_s: float = 60.0,
    *,
    config: ClientConfig | None = None,
) -> LedgerMetadata:
    """Fence and close a ledger of the cluster at ``uri``, unless it is closed; return its metadata.

    ``config`` is how bookies are spoken to; its TLS needs the extra ``tls`` here.

    Raises what opening it raised: NoSuchLedger, Unauthorized, or why it stays in recovery; RequestTimedOut when the
    child process took longer than ``timeout_s``.
    """
    failed = recover_ledgers(uri, [ledger_id], password, digest_type, timeout_s, config=config)
    if failed:
        raise failed[ledger_id]
    with open_blocking_store(uri, timeout_s) as store:
        return store.read_ledger(ledger_id).metadata


def recover_ledgers(
    uri: str,
    ledger_ids: Iterable[int],
    password: bytes,
    digest_type: DigestType = DigestType.CRC32C,
    timeout_s: float = 60.0,
    *,
    config: ClientConfig | None = None,
) -> dict[int, BookKeeperError]:
    """Recover several ledgers of one password, in one child; return why of those that could not be.

    ``timeout_s`` is for all of them together; those that were not reached until then are among the failed.
    """
    wanted = [int(ledger_id) for ledger_id in ledger_ids]
    asked = {
        "uri": uri,
        "ledgers": wanted,
        "password": base64.b64encode(password).decode(),
        "digest_type": digest_type.name,
        "config": base64.b64encode(pickle.dumps(config or ClientConfig())).decode(),
    }
    # The child finds our modules where we do, also those that came in a zip file.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", CHILD]
    reason: BookKeeperError
    try:
        done = subprocess.run(
            command, input=json.dumps(asked).encode(), capture_output=True, timeout=timeout_s, env=environment
        )
        output = done.stdout
        said = done.stderr.decode(errors="replace")[-2000:]
        reason = RemoteError(f"the recovering process ended with {done.returncode}: {said}")
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        reason = RequestTimedOut(f"not recovered within {timeout_s:g} s")
    return _failed(wanted, output, reason)


def _failed(wanted: list[int], output: bytes, reason: BookKeeperError) -> dict[int, BookKeeperError]:
    """Return the errors in the child's ``output``, and ``reason`` for every ledger that it says nothing about."""
    failed: dict[int, BookKeeperError] = {
        each: type(reason)(f"ledger {ledger_name(each)}: {reason}") for each in wanted
    }
    for line in output.splitlines():
        if not line.endswith(b"}"):
            continue  # cut off when the child was killed
        answer = json.loads(line)
        del failed[answer["ledger"]]
        if "error" in answer:
            kind = getattr(errors, answer["error"], RemoteError)
            failed[answer["ledger"]] = kind(answer["text"])
    return failed

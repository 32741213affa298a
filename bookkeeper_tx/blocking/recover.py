"""Recovery for programs without a reactor, in a child process with the client on Twisted.

Recovery fences the ledger, so that its writer cannot add any more, and closes it at its last entry.
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

    ``config`` is the client's configuration; for TLS it needs the extra ``tls`` here.

    Raises the error of opening the ledger: NoSuchLedger, Unauthorized, or the reason for which it stays in recovery;
    RequestTimedOut when the child process took longer than ``timeout_s``.
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
    """Recover several ledgers of one password in one child process; return the errors of those that failed.

    ``timeout_s`` is for all of them together; those that it did not reach in that time are among the failed.
    """
    wanted = [int(ledger_id) for ledger_id in ledger_ids]
    asked = {
        "uri": uri,
        "ledgers": wanted,
        "password": base64.b64encode(password).decode(),
        "digest_type": digest_type.name,
        "config": base64.b64encode(pickle.dumps(config or ClientConfig())).decode(),
    }
    # The child must find our modules where this process does, also those that came in a zip file.
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
    """Return the errors in the child's ``output``, and ``reason`` for every ledger that is not in it."""
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

"""The child process of :mod:`bookkeeper_tx.blocking.recover`: opens ledgers with recovery, on Twisted.

``python -m bookkeeper_tx.cli.recover_ledgers`` reads one JSON object from standard input (so that no password is in a
command line) and writes one line of JSON for each ledger: ``{"ledger": id}`` when it is closed, with ``"error"`` (name
of the class) and ``"text"`` when it is not.
"""

import base64
import json
import pickle
import sys
from typing import Any

from attrs import evolve

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import DigestType
from protocol_specs.ledger_id import SCOPED_MIN


async def recover_all(reactor: Any, asked: dict[str, Any]) -> None:
    """Recover one ledger after the other; write a line of JSON for each."""
    from bookkeeper_tx.client.client import BookKeeper

    # Unpickling runs any code that the pickle names.  That is safe here: standard input comes from the parent process
    # alone, which has the rights of this one and could run any code itself.
    config: ClientConfig = pickle.loads(base64.b64decode(asked["config"]))
    if any(ledger_id >= SCOPED_MIN for ledger_id in asked["ledgers"]):
        config = evolve(config, protocol=WireProtocol.V3)  # V2 cannot name a ledger of a scope
    client = BookKeeper(asked["uri"], config, reactor)
    await client.start()
    try:
        for ledger_id in asked["ledgers"]:
            answer: dict[str, Any] = {"ledger": ledger_id}
            try:
                reader = await client.open_ledger(
                    ledger_id, base64.b64decode(asked["password"]), DigestType[asked["digest_type"]]
                )
                reader.close()
            except BookKeeperError as error:
                answer.update(error=type(error).__name__, text=str(error))
            print(json.dumps(answer), flush=True)
    finally:
        await client.close()


def main() -> None:
    """Recover the ledgers that standard input names."""
    from bookkeeper_tx.cli.run import run

    asked = json.load(sys.stdin)
    run(lambda reactor: recover_all(reactor, asked))


if __name__ == "__main__":
    main()

"""The calls of Pulsar's administrators, over HTTP."""

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

TIMEOUT_S = 60


class AdminError(Exception):
    """The broker has refused a call; ``status`` is that of HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


class Admin:
    """The API of a broker below ``/admin/v2``.  Every call raises AdminError if it is refused."""

    def __init__(self, web_url: str) -> None:
        self._root = f"{web_url}/admin/v2"

    def get(self, path: str) -> Any:
        """The answer, from JSON."""
        return self._call("GET", path)

    def put(self, path: str, body: object = None) -> Any:
        """Change something, or have something done."""
        return self._call("PUT", path, body)

    def post(self, path: str, body: object = None) -> Any:
        """Set something, or have something done."""
        return self._call("POST", path, body)

    def delete(self, path: str) -> Any:
        """Delete something."""
        return self._call("DELETE", path)

    def make_namespace(self, name: str, *, ensemble: int, write: int, ack: int) -> None:
        """Make a namespace of the tenant ``public`` whose ledgers have these quorums."""
        self.put(f"namespaces/public/{name}")
        quorums = {"bookkeeperEnsemble": ensemble, "bookkeeperWriteQuorum": write, "bookkeeperAckQuorum": ack}
        self.post(f"namespaces/public/{name}/persistence", {**quorums, "managedLedgerMaxMarkDeleteRate": 0})

    def ledgers(self, topic: str) -> list[dict[str, Any]]:
        """The ledgers of a topic, the oldest first, with their metadata as text."""
        ledgers: list[dict[str, Any]] = self.get(f"{topic}/internalStats?metadata=true")["ledgers"]
        return ledgers

    def ledger_ids(self, topic: str) -> list[int]:
        """The ids of these."""
        return [ledger["ledgerId"] for ledger in self.ledgers(topic)]

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        url = f"{self._root}/{quote(path, safe='/?=&')}"
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, method=method, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AdminError(error.code, error.read().decode(errors="replace")) from error
        return json.loads(text) if text else None

"""``bktx bookie gc``: asks a running bookie for a garbage collection, over its HTTP API."""

import json
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import click

from bookkeeper_tx.cli.progress import progress
from bookkeeper_tx.errors import BadRequest, BookieUnavailable

Ask = Callable[[str, Mapping[str, Any] | None], Any]
"""Sends a PUT with this body to a path, or a GET without one; returns what the answer's JSON says."""

_ANSWER_WITHIN_S: Final = 30.0
_ANSWER_BYTES_MAX: Final = 1 << 20
_LOOK_EVERY_S: Final = 1.0


@click.command(short_help="Have a running bookie collect garbage now.")
@click.option("--http", "address", required=True, metavar="HOST:PORT", help="Where the bookie's HTTP API listens.")
@click.option("--major/--no-major", default=None, help="With a major compaction, or not.")
@click.option("--minor/--no-minor", default=None, help="With a minor compaction, or not.")
@click.option("--status", "only_look", is_flag=True, help="Ask for nothing: only tell what goes on, and what was done.")
@click.option("--wait", is_flag=True, help="Until the collection is over.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def gc(address: str, major: bool | None, minor: bool | None, only_look: bool, wait: bool, as_json: bool) -> None:
    """Have a running bookie collect garbage now, without waiting for gcWaitTime.

    Entry logs without live entries are removed, and a compaction rewrites others: the major one, unless options say
    otherwise, or compactions are disabled or suspended.  The bookie needs httpServerEnabled=true.

    \b
    bktx bookie gc --http 127.0.0.1:8080 --major --wait
    """
    if only_look and (major, minor) != (None, None):
        raise click.UsageError("--status asks for no compaction: leave out --major and --minor")
    ask = _asking(address)
    if not only_look:
        chosen = {"forceMajor": major, "forceMinor": minor}
        ask("gc", {name: value for name, value in chosen.items() if value is not None})
    if wait:
        wait_until_over(ask, time.sleep)
    collecting = is_collecting(ask)
    directories = ask("gc_details", None)
    if as_json:
        click.echo(json.dumps({"collecting": collecting, "directories": directories}))
        return
    click.echo("a collection that was asked for waits or goes on" if collecting else "no collection is asked for")
    for each in directories:
        click.echo(f"{each['majorCompactionCounter']} major compactions, {each['minorCompactionCounter']} minor ones")


def wait_until_over(ask: Ask, sleep: Callable[[float], None]) -> None:
    """Return once no collection that was asked for waits or goes on."""
    with progress(lambda: "garbage is collected") as advance:
        while is_collecting(ask):
            advance()
            sleep(_LOOK_EVERY_S)


def is_collecting(ask: Ask) -> bool:
    """Return whether a collection that was asked for waits or goes on."""
    return bool(ask("gc", None) == {"is_in_force_gc": "true"})


def _asking(address: str) -> Ask:
    def ask(path: str, body: Mapping[str, Any] | None) -> Any:
        url = f"http://{address}/api/v1/bookie/{path}"
        method, data = ("GET", None) if body is None else ("PUT", json.dumps(body).encode())
        try:
            with urlopen(Request(url, data, method=method), timeout=_ANSWER_WITHIN_S) as reply:
                return json.loads(reply.read(_ANSWER_BYTES_MAX))
        except HTTPError as error:
            raise BadRequest(
                f"{url} answers {error.code}: {error.read(_ANSWER_BYTES_MAX).decode(errors='replace').strip()}"
            ) from error
        except (OSError, ValueError, HTTPException) as error:
            raise BookieUnavailable(
                f"no bookie answers at {url}: {error}; its HTTP API needs httpServerEnabled=true"
            ) from error

    return ask

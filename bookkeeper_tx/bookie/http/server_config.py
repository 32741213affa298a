"""``/api/v1/config/server_config``: the settings of the bookie, by Java's keys."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from bookkeeper_tx.bookie.config_keys import MAPPED
from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import BAD_REQUEST, NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.config import MIB, BookieConfig

_BODY = "Request body not found. should contains k-v pairs"


_DIRECTORIES: Final[dict[str, Callable[[BookieConfig], Sequence[str]]]] = {
    "journal_directory": lambda config: config.journal_directories,
    "ledger_directory": lambda config: config.ledger_directories,
    "index_directories": lambda config: config.index_directories,
}
"""Field → all directories of that kind."""


async def server_config(call: Call, bookie: Administered) -> Answer:
    settings = settings_of(bookie.config)
    if call.method == "GET":
        return json_answer(settings)
    if call.method != "PUT" or not call.body:
        return Answer(_BODY, NOT_FOUND)
    changed = {key: value for key, value in call.json_body().items() if settings.get(key) != _text(value)}
    if changed:
        return Answer(
            f"{', '.join(changed)}: a running bookie does not change its settings, so nothing was set; "
            "write them to bk_server.conf and start it again",
            BAD_REQUEST,
        )
    return Answer("Success set server config.")


def settings_of(config: BookieConfig) -> dict[str, str]:
    """Return the settings as ``bk_server.conf`` would have them, but for those that leave the choice to the bookie."""
    found: dict[str, str] = {}
    fields = set()
    for key, (field, form) in MAPPED.items():
        value = getattr(config, field)
        if field in fields or value in (None, ()):
            continue
        fields.add(field)
        if form.startswith("milliseconds"):
            value = round(value * 1000)
        elif form == "seconds or none":
            value = round(value)
        elif form == "directories":
            value = ",".join(_DIRECTORIES[field](config))
        elif form == "mebibytes":
            value //= MIB
        found[key] = _text(value)
    return found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

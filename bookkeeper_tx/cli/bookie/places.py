"""Options that say where the files of a bookie are."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.text.listed import listed
from bookkeeper_tx.text.properties_file import Setting, read_properties
from protocol_specs.disk.entry_log import LOG_SIZE_MAX

JOURNAL_KEYS = ("journalDirectories", "journalDirectory")
LEDGER_KEY = "ledgerDirectories"
INDEX_KEY = "indexDirectories"
LOG_SIZE_KEY = "logSizeLimit"


def places(command: Callable[..., Any]) -> Any:
    """Add options for the directories of a bookie; the command gets ``places``."""

    @places_if_needed
    @functools.wraps(command)
    def with_places(*args: Any, places: Places | None, **others: Any) -> Any:
        if places is None:
            raise click.UsageError("say where the files are: --data DIR, or --config FILE (or BKTX_BOOKIE_CONFIG)")
        return command(*args, places=places, **others)

    return with_places


def places_if_needed(command: Callable[..., Any]) -> Any:
    """Add these options for a command that can do without; it gets None as ``places`` then."""

    @_directory_option("--data", "in_ledgers", "Directory of the bookie, as its own --data says; several: D,E.")
    @_directory_option("--journal-dir", "in_journals", "Directory of its journal, if it is another; several: D,E.")
    @_directory_option("--index-dir", "in_indexes", "Directory of its indexes, if it is another; several: D,E.")
    @click.option(
        "--config",
        "in_config",
        type=click.Path(exists=True, dir_okay=False),
        envvar="BKTX_BOOKIE_CONFIG",
        show_envvar=True,
        metavar="FILE",
        help="Take the directories from this bk_server.conf, ours or a Java bookie's.",
    )
    @functools.wraps(command)
    def with_places(
        *args: Any,
        in_ledgers: Sequence[str],
        in_journals: Sequence[str],
        in_indexes: Sequence[str],
        in_config: str | None,
        **others: Any,
    ) -> Any:
        return command(*args, places=_places(in_ledgers, in_journals, in_indexes, in_config), **others)

    return with_places


def _directory_option(option: str, name: str, text: str) -> Callable[[Any], Any]:
    return click.option(option, name, multiple=True, metavar="DIR", help=f"{text}  May be given more than once.")


def _places(data: Sequence[str], journal: Sequence[str], index: Sequence[str], config: str | None) -> Places | None:
    """Return the directories, None if none is given; what is given on the command line wins over the file."""
    data, journal, index = _split("--data", data), _split("--journal-dir", journal), _split("--index-dir", index)
    log_bytes_max = LOG_SIZE_MAX
    if config is not None:
        settings = read_properties(config)
        data = data or _directories(settings.get(LEDGER_KEY))
        journal = journal or next((found for key in JOURNAL_KEYS if (found := _directories(settings.get(key)))), ())
        index = index or _directories(settings.get(INDEX_KEY))
        size = settings.get(LOG_SIZE_KEY)
        if size is not None and size.value:
            log_bytes_max = size.integer(1, LOG_SIZE_MAX)
        if not data:
            raise InvalidConfig(f"{config}: there is no {LEDGER_KEY} in it: give --data DIR")
    if not data:
        return None
    ledger = tuple(map(os.path.abspath, data))
    journals, indexes = tuple(map(os.path.abspath, journal)) or ledger[:1], tuple(map(os.path.abspath, index))
    return Places(journals, ledger, indexes, log_bytes_max)


def _split(option: str, given: Sequence[str]) -> list[str]:
    return [name for each in given for name in listed(each, option)]


def _directories(setting: Setting | None) -> tuple[str, ...]:
    return listed(setting.value, f"{setting.where} =") if setting is not None else ()

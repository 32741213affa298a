"""Java's ``bk_server.conf`` as the configuration of our bookie (docs/guides/configuration.md)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from bookkeeper_tx.bookie import config_keys
from bookkeeper_tx.config import MIB
from bookkeeper_tx.errors import InvalidConfig

Warn = Callable[[str], None]

STORAGE_CLASSES = ("SortedLedgerStorage", "InterleavedLedgerStorage")
"""Both have the same files, which are ours too."""


@frozen
class _Setting:
    """One line of the file."""

    path: str
    line: int
    key: str
    value: str

    def refuse(self, reason: str) -> InvalidConfig:
        return InvalidConfig(f"{self.path}, line {self.line}: {self.key} = {self.value}: {reason}")

    def integer(self, minimum: int, maximum: int = 2**63 - 1) -> int:
        try:
            number = int(self.value)
        except ValueError:
            raise self.refuse("not a whole number") from None
        if not minimum <= number <= maximum:
            raise self.refuse(
                f"must be {minimum} to {maximum}" if maximum < 2**63 - 1 else f"must be {minimum} or more"
            )
        return number

    def boolean(self) -> bool:
        if self.value.lower() not in ("true", "false"):
            raise self.refuse("must be true or false")
        return self.value.lower() == "true"

    def directory(self) -> str:
        names = [name.strip() for name in self.value.split(",") if name.strip()]
        if len(names) != 1:
            raise self.refuse(
                f"one directory is supported, {len(names)} are named; entries in the others would be served as missing"
            )
        return names[0]


_READ: dict[str, Callable[[_Setting], Any]] = {
    "text": lambda setting: setting.value,
    "port": lambda setting: setting.integer(0, 65535),
    "boolean": _Setting.boolean,
    "directory": _Setting.directory,
    "count": lambda setting: setting.integer(1),
    "count or none": lambda setting: setting.integer(0),
    "count or default": lambda setting: setting.integer(1) if setting.value != "-1" else None,
    "frame size": lambda setting: setting.integer(1025),
    "entry log size": lambda setting: setting.integer(1, 1024 * MIB),
    "mebibytes": lambda setting: setting.integer(1) * MIB,
    "milliseconds": lambda setting: setting.integer(1) / 1000,
}
"""How a value is written in the file → the value of the field; None leaves the default."""


def read_config_file(path: str, warn: Warn) -> dict[str, Any]:
    """Return the fields of :class:`~bookkeeper_tx.config.BookieConfig` that the file sets.

    ``warn`` is called with a sentence for each key that is unknown or does nothing here.  Raises InvalidConfig, which
    names file, line, key and reason, for a value that is wrong, or that asks for something whose silent absence would
    change what is durable, where entries lie, or who has access.
    """
    settings = _settings(path)
    values: dict[str, Any] = {}
    for setting in settings.values():
        if not setting.value:
            continue
        if setting.key in config_keys.MAPPED:
            field, form = config_keys.MAPPED[setting.key]
            value = _READ[form](setting)
            if value is not None:
                values.setdefault(field, value)
        elif setting.key not in config_keys.HANDLED:
            _check(setting, warn)
    _check_storage(settings)
    if "metadata_uri" not in values and "zkServers" in settings:
        values["metadata_uri"] = _zookeeper_uri(settings)
    return values


def _check(setting: _Setting, warn: Warn) -> None:
    """Refuse or warn of a key that sets no field."""
    where = f"{setting.path}, line {setting.line}: {setting.key}"
    if setting.key in config_keys.ONLY:
        allowed, reason = config_keys.ONLY[setting.key]
        if setting.value.lower() not in (each.lower() for each in allowed):
            raise setting.refuse(reason)
    elif setting.key in config_keys.INERT:
        if setting.value.lower() not in config_keys.INERT[setting.key]:
            warn(f"{where} = {setting.value} is not implemented and does nothing")
    elif setting.key in config_keys.NOT_IMPLEMENTED:
        warn(f"{where} is not implemented and does nothing")
    else:
        warn(f"{where} is not a known key")


def _check_storage(settings: Mapping[str, _Setting]) -> None:
    storage = settings.get("ledgerStorageClass")
    if storage is not None and storage.value and storage.value.rpartition(".")[2] not in STORAGE_CLASSES:
        raise storage.refuse(
            f"only the files of {' and '.join(STORAGE_CLASSES)} are supported; "
            "what another storage class has written would be served as missing"
        )
    index = settings.get("indexDirectories")
    ledgers = settings.get("ledgerDirectories")
    if index is not None and index.value and (ledgers is None or index.directory() != ledgers.directory()):
        raise index.refuse("index files are supported in the ledger directory only: leave the key out")


def _zookeeper_uri(settings: Mapping[str, _Setting]) -> str:
    servers = settings["zkServers"].value.replace(" ", "").replace(",", ";")
    root = settings.get("zkLedgersRootPath")
    path = root.value if root is not None and root.value else "/ledgers"
    if root is not None and not path.startswith("/"):
        raise root.refuse("a ZooKeeper path starts with /")
    return f"zk+null://{servers}{path}"


def _settings(path: str) -> dict[str, _Setting]:
    """Return the settings of a file in Java's properties format, by key."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfig(f"{path}: cannot be read: {error}") from None
    settings: dict[str, _Setting] = {}
    for number, line in _logical_lines(text):
        key, separator, value = line.partition(next((each for each in line if each in "=:"), "="))
        setting = _Setting(path, number, key.strip(), value.strip().replace("\\,", ",").replace("\\\\", "\\"))
        if not separator or not setting.key:
            raise InvalidConfig(f"{path}, line {number}: {line}: not of the form key=value")
        if setting.key == "include":
            raise setting.refuse("other files are not included: copy their lines here")
        if "${" in setting.value:
            raise setting.refuse("variables are not expanded: write the value")
        if setting.key in settings:
            raise setting.refuse(f"given twice, first in line {settings[setting.key].line}: keep one")
        settings[setting.key] = setting
    return settings


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Return number and text of each line that is no comment; one that ends in a backslash is joined with the next."""
    lines: list[tuple[int, str]] = []
    started, parts = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not parts and (not line or line[0] in "#!"):
            continue
        started = started or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            parts += line[:-1]
            continue
        lines.append((started, parts + line))
        started, parts = 0, ""
    if parts:
        lines.append((started, parts))
    return lines

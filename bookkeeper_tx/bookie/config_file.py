"""Java's ``bk_server.conf`` as the configuration of our bookie (docs/guides/configuration.md)."""

from collections.abc import Callable, Mapping
from typing import Any

from bookkeeper_tx.bookie import config_keys
from bookkeeper_tx.config import LEDGER_STORAGE_CLASSES, MIB
from bookkeeper_tx.metadata.uri import LAYOUTS, shown_uri
from bookkeeper_tx.security.config_keys import BOOKIE_KEYS, CLIENT_KEYS, bookie_client_security, bookie_security
from bookkeeper_tx.security.zookeeper_keys import ZOOKEEPER_KEYS, metadata_security
from bookkeeper_tx.text.listed import listed
from bookkeeper_tx.text.properties_file import Setting, read_properties
from protocol_specs.metadata.layout import FACTORY_CLASS_OF

Warn = Callable[[str], None]


_READ: dict[str, Callable[[Setting], Any]] = {
    "text": lambda setting: setting.value,
    "port": lambda setting: setting.integer(0, 65535),
    "boolean": Setting.boolean,
    "directories": lambda setting: listed(setting.value, f"{setting.where} ="),
    "count": lambda setting: setting.integer(1),
    "count or none": lambda setting: setting.integer(0),
    "count or default": lambda setting: setting.integer(1) if setting.value != "-1" else None,
    "count or nothing": lambda setting: number if (number := setting.integer(-1)) > 0 else None,
    "frame size": lambda setting: setting.integer(1025),
    "entry log size": lambda setting: setting.integer(1, 1024 * MIB),
    "part": Setting.part,
    "mebibytes": lambda setting: setting.integer(1) * MIB,
    "milliseconds": lambda setting: setting.integer(1) / 1000,
    "milliseconds or none": lambda setting: setting.integer(-(2**63)) / 1000,
    "milliseconds or no limit": lambda setting: max(setting.integer(-(2**63)), 0) / 1000,
    "seconds or none": lambda setting: setting.integer(-(2**63)),
    "threshold": Setting.threshold,
    "rate or no limit": Setting.rate,
}
"""Form of a value in the file → function that returns the value of the field; None leaves the default."""

_LAYOUTS_OF_KEY = {
    "ledgerManagerFactoryClass": {FACTORY_CLASS_OF[each].decode().rpartition(".")[2]: each for each in LAYOUTS},
    "ledgerManagerType": {each: each for each in LAYOUTS},
}
"""Key → value, a class without its package → layout; the second key is that of releases before 4.5."""


def read_config_file(path: str, warn: Warn) -> dict[str, Any]:
    """Return the fields of :class:`~bookkeeper_tx.config.BookieConfig` that the file sets.

    ``warn`` is called with a sentence for each key that is unknown or does nothing here.  Raises InvalidConfig, which
    names file, line, key and reason, for a value that is wrong.  So it does for a feature that is not implemented, if
    ignoring it would change which entries are durable, where they are, or which clients have access.
    """
    settings = read_properties(path)
    values: dict[str, Any] = {}
    for setting in settings.values():
        if not setting.value:
            continue
        if setting.key in config_keys.MAPPED:
            field, form = config_keys.MAPPED[setting.key]
            value = _READ[form](setting)
            if value is not None:
                values.setdefault(field, value)
        elif setting.key not in config_keys.HANDLED | BOOKIE_KEYS | CLIENT_KEYS | ZOOKEEPER_KEYS:
            _check(setting, warn)
    for kind in ("journal", "ledger"):
        if named := values.pop(f"{kind}_directory", None):
            values[f"{kind}_directory"], *more = named
            values |= {f"more_{kind}_directories": tuple(more)} if more else {}
    values |= _storage(settings, warn)
    values |= bookie_security(settings, warn)
    values |= bookie_client_security(settings, warn)
    values |= metadata_security(settings)
    if "metadata_uri" not in values and "zkServers" in settings:
        values["metadata_uri"] = _zookeeper_uri(settings)
    if (uri := _with_layout(values.get("metadata_uri"), settings, warn)) is not None:
        values["metadata_uri"] = uri
    return values


def _check(setting: Setting, warn: Warn) -> None:
    """Refuse or warn of a key that sets no field."""
    where = setting.where
    if setting.key in config_keys.ONLY:
        allowed, reason = config_keys.ONLY[setting.key]
        if setting.value.lower() not in (each.lower() for each in allowed):
            raise setting.refuse(reason)
    elif setting.key in config_keys.WRITTEN:
        written = config_keys.WRITTEN[setting.key]
        if setting.integer(0, written) != written:
            warn(f"{where} = {setting.value}: version {written} is written, which Java reads since 4.8")
    elif setting.key in config_keys.INERT:
        if setting.value.lower() not in config_keys.INERT[setting.key]:
            warn(f"{where} = {setting.value} is not implemented and does nothing")
    elif setting.key in config_keys.NOT_IMPLEMENTED:
        warn(f"{where} is not implemented and does nothing")
    else:
        warn(f"{where} is not a known key")


def _storage(settings: Mapping[str, Setting], warn: Warn) -> dict[str, Any]:
    """Return the fields of the ledger storage that depend on its class."""
    values: dict[str, Any] = {}
    storage = settings.get("ledgerStorageClass")
    if storage is not None and storage.value:
        values["ledger_storage_class"] = storage.class_name()
        if storage.class_name() not in LEDGER_STORAGE_CLASSES:
            raise storage.refuse(
                f"only the files of {', '.join(LEDGER_STORAGE_CLASSES)} are supported; "
                "entries that another storage class has written would be served as missing"
            )
    for key, (field, parts) in config_keys.DB_CACHES.items():
        cache = settings.get(key)
        if cache is not None and cache.value and values.get("ledger_storage_class") == "DbLedgerStorage":
            values[field] = cache.integer(1) * MIB // parts
        elif cache is not None and cache.value:
            warn(f"{cache.where} does nothing without ledgerStorageClass = DbLedgerStorage")
    return values


def _zookeeper_uri(settings: Mapping[str, Setting]) -> str:
    servers = settings["zkServers"].value.replace(" ", "").replace(",", ";")
    root = settings.get("zkLedgersRootPath")
    path = root.value if root is not None and root.value else "/ledgers"
    if root is not None and not path.startswith("/"):
        raise root.refuse("a ZooKeeper path starts with /")
    return f"zk+null://{servers}{path}"


def _with_layout(uri: str | None, settings: Mapping[str, Setting], warn: Warn) -> str | None:
    """Return a metadata URI with the layout of the file, if that names one."""
    for key, layouts in _LAYOUTS_OF_KEY.items():
        setting = settings.get(key)
        if setting is None or not setting.value:
            continue
        scheme, _, place = (uri or "").partition("://")
        if uri is not None and scheme.partition("+")[0] != "zk":
            warn(f"{setting.where} does nothing with {scheme}://: layouts are ZooKeeper's")
            continue
        layout = layouts.get(setting.class_name())
        if layout is None:
            raise setting.refuse(f"only these layouts of ledger metadata are implemented: {', '.join(LAYOUTS)}")
        if scheme in ("zk", "zk+null"):
            uri = f"zk+{layout}://{place}"
        elif uri is not None and scheme != f"zk+{layout}":
            raise setting.refuse(f"the metadata URI {shown_uri(uri)} asks for another layout: leave one of them out")
        elif uri is None and layout != LAYOUTS[0]:
            warn(f"{setting.where} does nothing without metadataServiceUri or zkServers in the same file")
    return uri

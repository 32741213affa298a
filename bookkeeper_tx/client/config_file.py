"""Java's client keys as the configuration of our client (docs/guides/configuration.md)."""

from collections.abc import Callable
from typing import Any

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.security.config_keys import CLIENT_KEYS, Warn, client_security
from bookkeeper_tx.security.zookeeper_keys import ZOOKEEPER_KEYS, metadata_security
from bookkeeper_tx.text.properties_file import Setting, read_properties

MAPPED: dict[str, tuple[str, Callable[[Setting], Any]]] = {
    "useV2WireProtocol": ("protocol", lambda setting: WireProtocol.V2 if setting.boolean() else WireProtocol.V3),
    "addEntryTimeoutSec": ("add_timeout_s", lambda setting: setting.integer(1)),
    "readEntryTimeoutSec": ("read_timeout_s", lambda setting: setting.integer(1)),
    "speculativeReadTimeout": ("speculative_read_s_max", lambda setting: max(setting.integer(-(2**63)), 0) / 1000),
    "clientConnectTimeoutMillis": ("connect_timeout_s", lambda setting: setting.integer(1) / 1000),
    "nettyMaxFrameSizeBytes": ("frame_size_max", lambda setting: setting.integer(1025)),
    "batchReadEnabled": ("batch_read_enabled", Setting.boolean),
    "explicitLacInterval": ("explicit_lac_interval_s", lambda setting: setting.integer(0) / 1000),
}
"""Key → field of ClientConfig, and how its value is read."""


def read_client_config_file(path: str, warn: Warn) -> ClientConfig:
    """Return the configuration that the file asks for.

    ``warn`` is called with a sentence for each key that has no effect.  Raises InvalidConfig, which names file, key and
    reason, for a wrong value, and for settings of TLS or authentication that are not supported.
    """
    settings = read_properties(path)
    values: dict[str, Any] = {}
    for setting in settings.values():
        if not setting.value:
            continue
        if setting.key in MAPPED:
            field, read = MAPPED[setting.key]
            values[field] = read(setting)
        elif setting.key not in CLIENT_KEYS | ZOOKEEPER_KEYS:
            warn(f"{setting.where} is not implemented and does nothing")
    return ClientConfig(**values, **client_security(settings, warn), **metadata_security(settings))

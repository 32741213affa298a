"""The settings of connections to bookies and to ZooKeeper, from the options.

No setting is a secret: passwords of keys and of logins stay in files, which are read where a connection is made.  So
options and settings may be pickled for tasks, and shown in plans and logs.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from attrs import evolve

from bookkeeper_tx.client.config_file import MAPPED
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.metadata.uri import ZooKeeperUri, parse_metadata_uri
from bookkeeper_tx.security.config_keys import CLIENT_KEYS, client_security_by_path
from bookkeeper_tx.security.zookeeper_keys import ZOOKEEPER_KEYS, metadata_security_by_path
from bookkeeper_tx.spark.options.option import DURATION_MAX_S
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.text.properties_file import Setting

PREFIX = "bookkeeper.client."

KEYS = frozenset({*MAPPED, *CLIENT_KEYS, *ZOOKEEPER_KEYS} - {"speculativeReadTimeout"})
"""Java's keys that do something here: no read of a task is made at two bookies."""

_BY_LOWER = {key.lower(): key for key in KEYS}


class _OptionSetting(Setting):
    """A setting that stands in no file."""

    @property
    def where(self) -> str:
        return f"option {PREFIX}{self.key}"


def client_config(options: Options) -> ClientConfig:
    """Return the configuration that ``options`` ask for; a key of Java's overrides an option of ours.

    Raises InvalidConfig for a key that does nothing here, or a value that is wrong.  No file is read.
    """
    config = ClientConfig(
        read_timeout_s=options.read_timeout_ms / 1000,
        metadata_timeout_s=options.metadata_timeout_ms / 1000,
        batch_read_enabled=options.batch,
    )
    found: dict[str, Any] = {}
    settings = {setting.key: setting for setting in map(_setting, options.client_keys.items())}
    for key in MAPPED.keys() & settings.keys():
        field, read = MAPPED[key]
        found[field] = read(settings[key])
        if field.endswith("_s") and found[field] > DURATION_MAX_S:
            raise settings[key].refuse("that is more than a week; write less")
    _check_store(options, settings)
    security = client_security_by_path(settings, _refuse) | metadata_security_by_path(settings)
    config = evolve(config, **found, **security)
    if "connect_timeout_s" in found:
        return config
    # To a reader, a bookie that takes no connection is one that does not answer: its longer time must not be added.
    return evolve(config, connect_timeout_s=min(config.connect_timeout_s, config.read_timeout_s))


def _check_store(options: Options, settings: Mapping[str, Setting]) -> None:
    """Refuse keys of ZooKeeper for metadata that is elsewhere: nothing would protect it."""
    given = sorted(ZOOKEEPER_KEYS.intersection(settings))
    if given and not isinstance(parse_metadata_uri(options.metadata_service_uri), ZooKeeperUri):
        raise InvalidConfig(
            f"{settings[given[0]].where} does nothing here: option metadataServiceUri names no ZooKeeper; leave it out"
        )


def _setting(given: tuple[str, str]) -> Setting:
    lower, value = given
    key = _BY_LOWER.get(lower.lower())
    if key is None:
        raise InvalidConfig(
            f"option {PREFIX}{lower} does nothing here: leave it out. Keys here are {', '.join(sorted(KEYS))}"
        )
    return _OptionSetting("", 0, key, value.strip())


def _refuse(text: str) -> NoReturn:
    """Refuse a setting without effect, which a file of settings may have."""
    raise InvalidConfig(f"options {PREFIX}…: {text}")

"""The settings of connections to bookies, from the options."""

from typing import Any

from attrs import evolve

from bookkeeper_tx.client.config_file import MAPPED
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.properties_file import Setting
from bookkeeper_tx.spark.option import DURATION_MAX_S
from bookkeeper_tx.spark.options import Options

PREFIX = "bookkeeper.client."

_BY_LOWER = {key.lower(): key for key in MAPPED}


class _OptionSetting(Setting):
    """A setting that stands in no file."""

    @property
    def where(self) -> str:
        return f"option {PREFIX}{self.key}"


def client_config(options: Options) -> ClientConfig:
    """Return the configuration that ``options`` ask for; a key of Java's has the last word.

    Raises InvalidConfig for a key that does nothing here, or a value that is wrong.
    """
    config = ClientConfig(
        read_timeout_s=options.read_timeout_ms / 1000,
        metadata_timeout_s=options.metadata_timeout_ms / 1000,
        batch_read_enabled=options.batch,
    )
    found: dict[str, Any] = {}
    for lower, value in options.client_keys.items():
        key = _BY_LOWER.get(lower.lower())
        if key is None:
            raise InvalidConfig(
                f"option {PREFIX}{lower} does nothing here: leave it out. Keys here are {', '.join(sorted(MAPPED))}; "
                "Spark tasks speak neither TLS nor SASL yet"
            )
        field, read = MAPPED[key]
        found[field] = read(_OptionSetting("", 0, key, value.strip()))
        if field.endswith("_s") and found[field] > DURATION_MAX_S:
            raise InvalidConfig(f"option {PREFIX}{key} = {value}: that is more than a week; write less")
    return evolve(config, **found)

"""Java's client keys."""

from pathlib import Path

from bookkeeper_tx.client.config_file import read_client_config_file
from bookkeeper_tx.config import WireProtocol


def test_keys_become_fields_and_others_are_named(tmp_path: Path) -> None:
    path, warnings = tmp_path / "keys.conf", list[str]()
    path.write_text(
        "useV2WireProtocol=false\nreadEntryTimeoutSec=7\nbatchReadEnabled=false\nthrottle=5\nexplicitLacInterval=250\n"
        "speculativeReadTimeout=500\n"
    )
    config = read_client_config_file(str(path), warnings.append)
    assert (config.protocol, config.read_timeout_s, config.batch_read_enabled) == (WireProtocol.V3, 7, False)
    assert (config.explicit_lac_interval_s, config.speculative_read_s_max) == (0.25, 0.5)
    assert [warning.partition(": ")[2] for warning in warnings] == ["throttle is not implemented and does nothing"]


def test_speculation_is_switched_off_as_in_java(tmp_path: Path) -> None:
    path = tmp_path / "keys.conf"
    for value in ("0", "-1"):
        path.write_text(f"speculativeReadTimeout={value}\n")
        assert read_client_config_file(str(path), print).speculative_read_s_max == 0

"""bookkeeper_tx.bookie.http.server_config: the settings by Java's keys."""

from pathlib import Path

from attrs import evolve

from bookkeeper_tx.bookie.config_file import read_config_file
from bookkeeper_tx.bookie.http.server_config import settings_of
from bookkeeper_tx.config import BookieConfig
from tests.bookie.http.asked import Asked

PATH = "/api/v1/config/server_config"


def test_what_is_told_can_be_read_again_as_a_file(tmp_path: Path) -> None:
    config = BookieConfig(
        metadata_uri="sqlite:///a.db",
        journal_directory="/j",
        more_journal_directories=("/k",),
        ledger_directory="/l",
        more_ledger_directories=("/m",),
        index_directories=("/x", "/y"),
        storage_expansion_allowed=True,
        journal_size_bytes_max=7 * 1024 * 1024,
        flush_interval_s=0.25,
        read_only=True,
        disk_usage_threshold=0.7,
        bookie_id="b",
    )
    path = tmp_path / "bk_server.conf"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings_of(config).items()))
    warnings: list[str] = []
    assert (
        evolve(
            BookieConfig(metadata_uri="", journal_directory="", ledger_directory=""),
            **read_config_file(str(path), warnings.append),
        )
        == config
    )
    assert not warnings


def test_settings_are_told(asked: Asked) -> None:
    told = asked.ask(PATH).json
    assert told["bookiePort"] == "3181"
    assert told["flushInterval"] == "10000"
    assert told["httpServerEnabled"] == "false"


def test_settings_do_not_change_and_none_is_said_to_have_changed(asked: Asked) -> None:
    refused = asked.put(PATH, {"bookiePort": 3181, "flushInterval": "1", "zzz": True})
    assert refused.status == 400
    assert refused.text.startswith("flushInterval, zzz: a running bookie does not change its settings")
    same = asked.put(PATH, {"bookiePort": 3181})
    assert (same.status, same.text) == (200, "Success set server config.")


def test_a_body_is_an_object(asked: Asked) -> None:
    assert [asked.ask(PATH, "PUT", body).status for body in (b"", b"{", b'["a"]', b" ")] == [404, 500, 500, 500]

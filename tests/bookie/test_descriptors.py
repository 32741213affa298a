"""bookkeeper_tx.bookie.descriptors: the limit is raised, and files keep their share of it."""

import resource
from typing import Any

import pytest

from bookkeeper_tx.bookie import descriptors
from bookkeeper_tx.bookie.rocks_db_opening import DATABASES_MAX, OPEN_TABLES_MIN
from bookkeeper_tx.config import BookieConfig


def config_of(**values: Any) -> BookieConfig:
    return BookieConfig(metadata_uri="sqlite:///x", journal_directory="/j", ledger_directory="/l", **values)


class Limits:
    """The limits of a process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, refused: bool = False) -> None:
        self.now = (soft, hard)
        self.refused = refused
        monkeypatch.setattr(resource, "getrlimit", lambda which: self.now)
        monkeypatch.setattr(resource, "setrlimit", self.set)

    def set(self, which: int, limits: tuple[int, int]) -> None:
        assert which == resource.RLIMIT_NOFILE
        if self.refused:
            raise ValueError
        self.now = limits


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [
        (1024, 4096, 4096),
        (1024, 1024, 1024),
        (1024, resource.RLIM_INFINITY, descriptors.LIMIT_MAX),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, descriptors.LIMIT_MAX),
    ],
)
def test_the_limit_is_raised_as_far_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: int
) -> None:
    limits = Limits(monkeypatch, soft, hard)
    assert descriptors.raise_limit() == raised
    assert limits.now[1] == hard


def test_a_limit_that_cannot_be_raised_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    Limits(monkeypatch, 1024, 4096, refused=True)
    assert descriptors.raise_limit() == 1024


def test_a_configuration_that_fits_stays_as_it_is() -> None:
    config = config_of()
    assert descriptors.shared_out(config, 4096) is config


@pytest.mark.parametrize("limit", [1024, 256, 160])
def test_files_and_connections_share_what_is_left(limit: int) -> None:
    config = descriptors.shared_out(config_of(), limit)
    assert config.open_index_files_max + config.connections_max == limit - descriptors.RESERVED
    assert config.open_index_files_max >= (limit - descriptors.RESERVED) // descriptors.INDEX_SHARE


@pytest.mark.parametrize(("limit", "count"), [(4096, 1), (1024, 2), (1024, 8), (4096, 16), (20_000, 32)])
def test_each_storage_of_several_directories_has_files_besides(limit: int, count: int) -> None:
    directories = tuple(f"/{at}" for at in range(1, count))
    several = config_of(more_ledger_directories=directories, ledger_storage_class="DbLedgerStorage")
    config = descriptors.shared_out(several, limit)
    tables = max(config.open_index_files_max // count // DATABASES_MAX, OPEN_TABLES_MIN)
    others = descriptors.RESERVED + descriptors.STORAGE_RESERVED * (count - 1)
    assert config.connections_max + tables * DATABASES_MAX * count + others <= limit
    assert config.connections_max > 100


def test_even_with_next_to_none_there_is_one_of_each() -> None:
    config = descriptors.shared_out(config_of(), 10)
    assert config.open_index_files_max > 0
    assert config.connections_max > 0


def test_who_asks_for_few_keeps_them() -> None:
    config = descriptors.shared_out(config_of(connections_max=10), 256)
    assert (config.connections_max, config.open_index_files_max) == (10, 32)

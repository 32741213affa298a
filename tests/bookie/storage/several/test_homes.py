"""bookkeeper_tx.bookie.storage.several.homes."""

import pytest

from bookkeeper_tx.bookie.storage.several.homes import BUDGETS, check_homes, home_of, share_of
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.ledger_id import join


def test_a_ledger_is_at_home_in_that_of_its_id_modulo_their_number() -> None:
    assert [home_of(ledger_id, 3) for ledger_id in (0, 1, 2, 3, 2**63 - 1)] == [0, 1, 2, 0, 1]


def test_of_a_ledger_of_another_scope_the_lower_half_counts() -> None:
    assert home_of(join(5, 7), 2) == home_of(7, 2)
    assert home_of(join(5, -7), 3) == 2  # as Java's: never negative


def test_storages_take_together_what_one_would() -> None:
    config = BookieConfig(metadata_uri="", journal_directory="/j", ledger_directory="/l")
    share = share_of(config, 4)
    for field in BUDGETS:
        assert getattr(share, field) * 4 == getattr(config, field)
    assert share_of(BookieConfig(**ONE), 4).open_index_files_max == 1


ONE = {"metadata_uri": "", "journal_directory": "/j", "ledger_directory": "/l", "open_index_files_max": 2}


def test_a_ledger_in_another_directory_than_its_home_refuses_the_start() -> None:
    directories = ["/a/current", "/b/current"]
    check_homes([0, 2, join(1, 4)], 0, directories)
    check_homes([1, 3], 1, directories)
    with pytest.raises(RefusedToStart, match=r"ledger 3 is in /a/current, .* look for it in /b/current"):
        check_homes([2, 3], 0, directories)

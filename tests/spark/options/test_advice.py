"""The advice after the text of an error."""

import traceback

import pytest

from bookkeeper_tx.errors import (
    BookKeeperError,
    CannotConnect,
    DigestMismatch,
    EntriesMissing,
    InvalidConfig,
    MetadataUnavailable,
    NoSuchEntry,
    NotEnoughBookies,
    RequestTimedOut,
    TooManyRequests,
)
from bookkeeper_tx.spark.options.advice import advice_for, advised


@pytest.mark.parametrize(
    ("error", "option"),
    [
        (EntriesMissing(1, 2, 3, {"b": NoSuchEntry()}), "failOnDataLoss=false"),
        (DigestMismatch("bad bits"), "includeDigest=true"),
        (MetadataUnavailable("nobody there"), "metadataServiceUri"),
        (CannotConnect("nobody there"), "can reach them"),
        (RequestTimedOut("no answer"), "readTimeoutMs"),
        (NotEnoughBookies("one of three"), "ensembleSize"),
        (TooManyRequests("slower"), "maxEntriesPerSecondPerBookie"),
    ],
)
def test_an_error_is_shown_with_what_to_do_once(error: BookKeeperError, option: str) -> None:
    with pytest.raises(type(error)) as caught, advised(), advised():
        raise error
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count(option) == 1
    assert shown.index(str(error)) < shown.index(option)


def test_an_error_that_says_all_is_left_alone() -> None:
    assert advice_for(InvalidConfig("option x = 1: write 2")) is None
    with pytest.raises(InvalidConfig) as caught, advised():
        raise InvalidConfig
    assert not hasattr(caught.value, "__notes__")

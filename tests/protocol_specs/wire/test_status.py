"""The status table: three number spaces for one set of outcomes."""

import pytest

from bookkeeper_tx import errors
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2

TABLE = {
    "EOK": (0, 0, 0),
    "ENOLEDGER": (1, 402, -7),
    "ENOENTRY": (2, 403, -13),
    "EBADREQ": (100, 404, -1),
    "EIO": (101, 501, -1),
    "EUA": (102, 502, -102),
    "EBADVERSION": (103, 503, -16),
    "EFENCED": (104, 504, -101),
    "EREADONLY": (105, 505, -104),
    "ETOOMANYREQUESTS": (106, 506, -105),
    "EUNKNOWNLEDGERSTATE": (107, 507, -108),
}


def test_codes() -> None:
    assert {status.name: (status.v2, status.v3, status.client) for status in statuses.STATUSES} == TABLE


def test_every_status_is_found_by_either_code() -> None:
    for status in statuses.STATUSES:
        assert statuses.BY_V2_CODE[status.v2] is status
        assert statuses.BY_V3_CODE[status.v3] is status
        assert getattr(statuses, status.name) is status
    assert len(statuses.BY_V2_CODE) == len(statuses.BY_V3_CODE) == len(statuses.STATUSES)


def test_v3_lists_the_same_statuses() -> None:
    assert dict(v3_pb2.StatusCode.items()) == {status.name: status.v3 for status in statuses.STATUSES}


@pytest.mark.parametrize("status", statuses.STATUSES, ids=lambda status: status.name)
def test_every_status_has_a_sentence_and_an_error_of_its_own(status: statuses.Status) -> None:
    assert status.sentence.endswith(".")
    if status is not statuses.EOK:
        assert errors.status_of(errors.error_of(status)) is status


def test_success_is_final() -> None:
    assert not statuses.EOK.retriable
    assert statuses.EOK.v2 == statuses.EOK.v3 == statuses.OK

"""Lists of entries as a bookie may send them: none of them costs the suite its time or its memory."""

import pytest

from compat_tests.bookie.entry_lists import FIELD, parse
from compat_tests.bookie.talk import Talk
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import V3
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import Site
from compat_tests.wire.replies import Reply
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EOK
from tests.compat_tests.judge.fake_environment import make_case

Group = tuple[int, int, int, int]


def listing(*groups: Group, version: int = 0) -> bytes:
    parts = [version.to_bytes(4, "big"), len(groups).to_bytes(4, "big"), bytes(56)]
    for first, last, size, period in groups:
        parts += [first.to_bytes(8, "big"), last.to_bytes(8, "big"), size.to_bytes(4, "big"), period.to_bytes(4, "big")]
    return b"".join(parts)


def ids_of(data: bytes | None) -> list[int]:
    part = v3_pb2.GetListOfEntriesOfLedgerResponse()
    if data is not None:
        setattr(part, FIELD, data)
    talk = Talk(Brief(make_case("BKW-LIST-999"), V3, seed=1), Site("127.0.0.1", 1))
    return parse(talk, Reply(V3, b"", V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER, 3, EOK, part=part)).ids()


def test_groups_are_taken_apart() -> None:
    assert ids_of(listing((0, 0, 3, 0), (5, 11, 2, 3))) == [0, 1, 2, 5, 6, 8, 9, 11, 12]
    assert ids_of(listing()) == []


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        bytes(63),
        listing((0, 0, 1, 0))[:-1],
        listing((0, 0, 1, 0)) + b"\0",
        listing(version=7),
        listing((5, 4, 1, 1)),
        listing((0, 3, 1, 2)),
        listing((0, 0, 0x7FFFFFFF, 0)),
        listing((0, 2**62, 1, 1)),
        listing(*[(0, 0, 900_000, 0)] * 1000),
    ],
    ids=lambda data: "none" if data is None else f"{len(data)} bytes",
)
def test_what_is_no_list_is_told_at_once(data: bytes | None) -> None:
    with pytest.raises(Mismatch, match="list"):
        ids_of(data)

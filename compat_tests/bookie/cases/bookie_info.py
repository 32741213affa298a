"""Bookie info: the sizes of the disk, and which of them a request gets."""

from compat_tests.bookie.pipeline import ask_all
from compat_tests.bookie.runs import check_part, store_ids
from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import MUST, SHOULD, V3, case
from compat_tests.wire import v3_requests
from compat_tests.wire.replies import Reply
from protocol_specs.wire import v3
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EBADVERSION, EOK
from protocol_specs.wire.v3 import BookieInfo

_NEEDS = ("bookie-info",)
_TOTAL, _FREE = "total_disk_capacity", "free_disk_space"
_BOTH = BookieInfo.TOTAL_DISK_CAPACITY | BookieInfo.FREE_DISK_SPACE
_DRIFT = 0.2
"""The part of the whole by which the free space may change between two requests."""


@case(
    "BKW-INFO-001",
    MUST,
    "sec-bookie-info-v3",
    sends="GET_BOOKIE_INFO that asks for both, for the total alone, and for the free space alone.",
    accepts="EOK each, with what was asked for and nothing else.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def only_what_was_asked_for_is_told(talk: Talk) -> None:
    """The reply MUST have the total capacity if bit 0 is set, the free space if bit 1 is, and neither else."""
    for requested, names in ((1, {_TOTAL}), (2, {_FREE}), (3, {_TOTAL, _FREE})):
        reply = talk.expect(_info(talk, requested), EOK)
        talk.check(f"fields of the part for {requested}", _names(reply), {"status", *names})


@case(
    "BKW-INFO-002",
    MUST,
    "sec-bookie-info-v3",
    sends="GET_BOOKIE_INFO with 0, and with a part that does not say what it asks for.",
    accepts="EOK with a part of status alone.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="capture of Java 4.9.2 to 4.18.0",
)
def who_asks_for_nothing_is_told_nothing(talk: Talk) -> None:
    """Where nothing is asked for the reply MUST be EOK, with a part that has neither number."""
    for requested in (0, None):
        check_part(talk, talk.ask(_info(talk, requested)), EOK)


@case(
    "BKW-INFO-003",
    MUST,
    "sec-bookie-info-v3",
    sends="GET_BOOKIE_INFO with bit 2, bits 2 and 62, 7, and -1.",
    accepts="EOK; bits that mean nothing bring nothing, and harm none that do.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def unknown_bits_are_ignored(talk: Talk) -> None:
    """Bits of `requested` that are not defined MUST be ignored."""
    for requested, names in ((4, set()), (4 | 1 << 62, set()), (7, {_TOTAL, _FREE}), (-1, {_TOTAL, _FREE})):
        reply = talk.expect(_info(talk, requested), EOK)
        talk.check(f"fields of the part for {requested}", _names(reply), {"status", *names})


@case(
    "BKW-INFO-004",
    MUST,
    "sec-bookie-info-v3",
    sends="GET_BOOKIE_INFO without its part.",
    accepts="EOK with a part of status alone; the connection serves on.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="S10, capture of Java 4.9.2 to 4.18.0",
)
def without_its_part_it_asks_for_nothing(talk: Talk) -> None:
    """GET_BOOKIE_INFO without its part MUST be answered as if nothing were asked for: every release does, those too
    that close on others."""
    frame = v3_requests.request(V3Operation.GET_BOOKIE_INFO, txn_id=talk.requests.number())
    check_part(talk, talk.ask(frame), EOK)
    talk.expect_open()


@case(
    "BKW-INFO-005",
    MUST,
    "sec-bookie-info-v3",
    sends="GET_BOOKIE_INFO for both, and for each alone, on two connections.",
    accepts="The same total each time; free space of nearly the same size, below it; bytes, at least 1 MiB in all.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def the_numbers_are_bytes_and_agree(talk: Talk) -> None:
    """The numbers MUST be those of the ledger disks in bytes, the same to whoever asks and however: clients place
    ledgers by them."""
    both = talk.expect(_info(talk, _BOTH), EOK).part
    seen = f"{both.total_disk_capacity} in all, {both.free_disk_space} free"
    sensible = 0 < both.free_disk_space <= both.total_disk_capacity and both.total_disk_capacity >= 1 << 20
    talk.check_that(sensible, "the numbers", "some bytes free, of 1 MiB or more", seen)
    total = talk.expect(_info(talk, BookieInfo.TOTAL_DISK_CAPACITY), EOK, talk.line("other")).part.total_disk_capacity
    free = talk.expect(_info(talk, BookieInfo.FREE_DISK_SPACE), EOK, talk.line("other")).part.free_disk_space
    talk.check("total, asked for alone", total, both.total_disk_capacity)
    near = abs(free - both.free_disk_space) <= total * _DRIFT
    talk.check_that(near, "free space, asked for alone", f"about {both.free_disk_space}", free)


@case(
    "BKW-INFO-006",
    SHOULD,
    "sec-bookie-info-v3",
    sends="GET_BOOKIE_INFO before and after 4 MB of entries.",
    accepts="The same total.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def the_total_does_not_change_with_what_is_stored(talk: Talk) -> None:
    """The total capacity SHOULD be that of the disk, used or not, and not what is left of it."""
    before = talk.expect(_info(talk, _BOTH), EOK).part
    store_ids(talk, talk.new_ledger(), range(8), size=500_000)
    after = talk.expect(_info(talk, _BOTH), EOK).part
    talk.check("total", after.total_disk_capacity, before.total_disk_capacity)


@case(
    "BKW-INFO-007",
    MUST,
    "sec-v3-requests",
    sends="In one piece: twelve GET_BOOKIE_INFOs that ask for different things, of both priorities, adds and "
    "reads among them.",
    accepts="To each its own reply, under its transaction id, with what it asked for.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def several_in_flight_are_told_apart(talk: Talk) -> None:
    """GET_BOOKIE_INFOs in flight beside each other and beside other requests MUST each be answered with what they asked
    for."""
    ledger, names = talk.new_ledger(), {1: {_TOTAL}, 2: {_FREE}, 3: {_TOTAL, _FREE}, 0: set()}
    frames: list[bytes] = []
    for number in range(12):
        priority = v3.PRIORITY_HIGH if number % 3 else 0
        frames += [_info(talk, number % 4, priority=priority), talk.requests.add(ledger, number)]
    for index, reply in enumerate(ask_all(talk.line("together"), frames)):
        talk.check_reply(reply, EOK)
        if index % 2 == 0:
            talk.check("fields of the part", _names(reply), {"status", *names[index // 2 % 4]})


@case(
    "BKW-INFO-008",
    MUST,
    "sec-bookie-info-states",
    sends="GET_BOOKIE_INFO for both with header version 1 and 2.",
    accepts="EBADVERSION in both places, and neither number: not even 0.",
    dialects=(V3,),
    needs=_NEEDS,
    provenance="the source of Java 4.9 to 4.18",
)
def an_error_brings_no_numbers(talk: Talk) -> None:
    """A request that fails MUST be answered without numbers: 0 bytes free would say that the disk is full."""
    for version in (1, 2):
        check_part(talk, talk.ask(_info(talk, _BOTH, version=version)), EBADVERSION)


def _info(talk: Talk, requested: int | None, **options: int) -> bytes:
    return v3_requests.info(requested, txn_id=talk.requests.number(), **options)


def _names(reply: Reply) -> set[str]:
    """The names of the fields that a part has."""
    return {field.name for field, _ in reply.part.ListFields()}

"""Ensemble changes: what a writer does when a bookie of its ledger fails."""

from collections.abc import Callable

from compat_tests.client.driven_client import NOT_ENOUGH_BOOKIES, Handle
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.stage import HELD_MS, SILENCE_MS, Stage
from compat_tests.client.writers import check_fragments, fragments_of, with_spares
from compat_tests.judge.case import MUST, SHOULD, case
from compat_tests.judge.verdict import Mismatch
from protocol_specs.wire.status import (
    EBADREQ,
    EBADVERSION,
    EIO,
    ENOENTRY,
    ENOLEDGER,
    EREADONLY,
    ETOOMANYREQUESTS,
    STATUSES,
)

NOT_YET_S = 0.3

TWO_REFUSALS_MS = 7000
"""A time-out that is long enough for the case to act between its end and that of the next one."""

AT_ONCE_S = 8.0
"""Less than the time-outs of a client whose requests are held, and time enough on a busy machine."""


@case(
    "BKW-CENS-001",
    MUST,
    "sec-fragments",
    sends="After three acknowledged entries one of three bookies vanishes; another one is free.",
    accepts="The next append is acknowledged. A new fragment starts there, with the free bookie at its place.",
    provenance="seen with Java's client 4.18.0",
)
def a_vanished_bookie_is_replaced(stage: Stage) -> None:
    """A client MUST replace a bookie that it cannot reach, at its place, in a fragment behind what is acknowledged."""
    writer, (first, second, third), (spare,) = with_spares(stage, 3)
    for _ in range(3):
        writer.append()
    second.stop()
    stage.check("the next entry", writer.append(b"later"), 3)
    check_fragments(stage, writer, {0: [first, second, third], 3: [first, spare, third]})
    stage.check("entries of the new bookie", list(spare.entries(writer.ledger_id)), [3])


_REPLACED = (EIO, EREADONLY, ETOOMANYREQUESTS, EBADREQ, EBADVERSION, ENOLEDGER, ENOENTRY)


@case(
    "BKW-CENS-002",
    MUST,
    "sec-add-entry-client",
    sends="An add that one bookie refuses, with each status but EFENCED and EUA, and with a number that is no status.",
    accepts="The append is acknowledged by the other and a free bookie, which takes the place of the one that refused.",
    limit_s=60.0,
    provenance="seen with Java's client 4.18.0",
)
def a_bookie_that_refuses_an_add_is_replaced(stage: Stage) -> None:
    """A client MUST replace a bookie that refuses an add, and MUST NOT take any status but EOK for success."""
    (keeper,) = stage.bookies(1)
    unknown = max(max(each.v2, each.v3) for each in STATUSES) + 100
    for status in (*_REPLACED, unknown):
        (refusing,) = stage.bookies(1)
        writer = stage.new_writer([keeper, refusing])
        (spare,) = stage.bookies(1)
        stage.settle()
        refusing.on("add").answer(status)
        stage.check(f"the entry refused with {status}", writer.append(), 0)
        _expect_replaced(stage, writer, keeper, refusing, f"status {status}")
        for gone in (refusing, spare):
            stage.unregister(gone)


def _expect_replaced(stage: Stage, writer: Handle, keeper: ScriptedBookie, gone: ScriptedBookie, why: str) -> None:
    """Which bookie comes in is left open: a client may still know a free bookie that is not registered any more."""
    (ensemble,) = fragments_of(stage, writer).values()
    found = {each.name for each in ensemble}
    stage.check(f"different bookies of the fragment after {why}", len(found), 2)
    stage.check(f"whether the other bookie has stayed after {why}", keeper.name in found, True)
    stage.check(f"whether the bookie is still there after {why}", gone.name in found, False)
    for bookie in ensemble:
        stage.check(f"entries of {bookie.name} after {why}", list(bookie.entries(writer.ledger_id)), [0])


@case(
    "BKW-CENS-003",
    MUST,
    "sec-add-entry-client",
    sends="One of two bookies does not answer an add any more, with W = A = 2 and a free bookie.",
    accepts="After the add time-out the free bookie takes its place, and the append is acknowledged.",
    provenance="seen with Java's client 4.18.0",
)
def a_silent_bookie_is_replaced(stage: Stage) -> None:
    """A client MUST give an add up after a time, and replace the bookie."""
    writer, (first, second), (spare,) = with_spares(stage, 2, silence_ms=SILENCE_MS)
    writer.append()
    second.on("add").silence()
    stage.check("the entry", writer.append(), 1)
    check_fragments(stage, writer, {0: [first, second], 1: [first, spare]})


@case(
    "BKW-CENS-006",
    MUST,
    "sec-add-entry-client",
    sends="A silent bookie is replaced by one that holds the add; then the first one answers EOK after all.",
    accepts="No acknowledgement by that; one when the new bookie answers.",
    limit_s=30.0,
    provenance="docs: add-entry",
)
def a_replaced_bookie_acknowledges_nothing(stage: Stage) -> None:
    """A client MUST ignore what a replaced bookie still answers: the fragment does not name it any more."""
    writer, (first, second), (spare,) = with_spares(stage, 2, silence_ms=TWO_REFUSALS_MS)
    late = second.on("add").hold()
    held = spare.on("add").hold()
    pending = writer.begin("append", body=b"x")
    held.wait(timeout_s=TWO_REFUSALS_MS / 1000 + AT_ONCE_S)
    stage.check(
        "bookies of the entry", [each.name for each in fragments_of(stage, writer)[0]], [first.name, spare.name]
    )
    late.release()
    stage.wait(NOT_YET_S / 2)
    stage.check("acknowledged by a bookie that was replaced", pending.done, False)
    held.release()
    stage.check("the entry", pending.result()["entry"], "0")


@case(
    "BKW-CENS-007",
    MUST,
    "sec-fragments",
    sends="Two of three bookies vanish at once; two are free.",
    accepts="The next append is acknowledged, and the last fragment has the two new bookies at the places of the old.",
    provenance="seen with Java's client 4.18.0",
)
def several_bookies_are_replaced(stage: Stage) -> None:
    """A client MUST be able to replace several bookies of an ensemble."""
    writer, (first, second, third), spares = with_spares(stage, 3, spares=2)
    writer.append()
    first.stop()
    third.stop()
    stage.check("the entry", writer.append(), 1)
    fragments = fragments_of(stage, writer)
    stage.check("where fragments start", list(fragments), [0, 1])
    last = fragments[1]
    stage.check("the bookie that stays", last[1].name, second.name)
    stage.check("the new ones", sorted(each.name for each in (last[0], last[2])), sorted(each.name for each in spares))


@case(
    "BKW-CENS-008",
    MUST,
    "sec-quorums-rules",
    sends="One of two bookies vanishes, with W = A = 2 and no bookie free.",
    accepts="The append fails with -6, and no fragment without enough bookies is written.",
    provenance="seen with Java's client 4.18.0",
)
def without_enough_bookies_a_writer_fails(stage: Stage) -> None:
    """A client MUST fail an append that cannot get A acknowledgements any more."""
    writer, (first, second), _ = with_spares(stage, 2, spares=0)
    writer.append()
    second.stop()
    stage.unregister(second)
    stage.expect_error(writer.begin("append", body=b"x"), NOT_ENOUGH_BOOKIES)
    for ensemble in fragments_of(stage, writer).values():
        stage.check("different bookies of a fragment", len({each.name for each in ensemble}), 2)
        stage.check("the first place", ensemble[0].name, first.name)


@case(
    "BKW-CENS-009",
    SHOULD,
    "sec-quorums-rules",
    sends="One of three bookies vanishes, with W = 3, A = 2 and no bookie free.",
    accepts="Appends are acknowledged by the other two.",
    provenance="docs: quorums",
)
def a_writer_goes_on_with_an_ack_quorum(stage: Stage) -> None:
    """A client SHOULD go on without a replacement while each entry can get A acknowledgements."""
    writer, (_, second, _), _ = with_spares(stage, 3, spares=0, ack=2)
    writer.append()
    second.stop()
    stage.unregister(second)
    stage.check("the ids", [writer.append(), writer.append()], [1, 2])


@case(
    "BKW-CENS-010",
    MUST,
    "sec-quorums",
    sends="One of three bookies is silent, with W = 3 and A = 2, and no time-out passes.",
    accepts="Every append is acknowledged at once.",
    provenance="seen with Java's client 4.18.0",
)
def a_slow_bookie_holds_nobody_up(stage: Stage) -> None:
    """A client MUST NOT wait for more bookies than the ack quorum."""
    writer, (_, second, _), _ = with_spares(stage, 3, ack=2, silence_ms=HELD_MS)
    second.on("add").silence()
    for entry_id in range(5):
        stage.check("the entry", writer.append(timeout_s=AT_ONCE_S), entry_id)


@case(
    "BKW-CENS-013",
    MUST,
    "sec-connection-broken",
    sends="Replies to an add that are none: cut short, empty, of other bytes; and nothing behind them.",
    accepts="None is taken for an acknowledgement: after the time-out at the latest a free bookie takes the place.",
    limit_s=60.0,
    provenance="seen with Java's client 4.18.0",
)
def garbage_acknowledges_nothing(stage: Stage) -> None:
    """A client MUST NOT take bytes that are no reply to its add for an acknowledgement."""
    garbage: list[Callable[[bytes], bytes]] = [
        lambda frame: frame[:4],
        lambda frame: frame[:-3],
        lambda frame: b"",
        lambda frame: b"\xff" * 20,
        lambda frame: b"HTTP/1.1 200 OK\r\n\r\n",
    ]
    client = stage.impatient_client(SILENCE_MS)
    (keeper,) = stage.bookies(1)
    for number, change in enumerate(garbage):
        (liar,) = stage.bookies(1)
        writer = stage.new_writer([keeper, liar], client=client)
        (spare,) = stage.bookies(1)
        stage.settle(client)
        liar.on("add").change(change)
        try:
            stage.check("the entry", writer.append(), 0)
        except Mismatch as wrong:
            raise Mismatch(f"garbage number {number}: {wrong.what}", wrong.expected, wrong.seen) from None
        _expect_replaced(stage, writer, keeper, liar, f"garbage number {number}")
        for gone in (liar, spare):
            stage.unregister(gone)

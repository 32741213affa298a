"""Ensemble changes in the metadata: where fragments start, and other writers of the same record."""

import attrs

from compat_tests.client.records import IN_RECOVERY
from compat_tests.client.stage import Stage
from compat_tests.client.writers import check_fragments, fragments_of, with_spares
from compat_tests.judge.case import MUST, case
from protocol_specs.wire.status import (
    EIO,
)

NOT_YET_S = 0.3


@case(
    "BKW-CENS-004",
    MUST,
    "sec-fragments",
    sends="A bookie refuses the very first add of a ledger.",
    accepts="The one fragment of the ledger starts at 0 still, with the new bookie in it.",
    provenance="seen with Java's client 4.18.0",
)
def a_fragment_without_entries_is_replaced_whole(stage: Stage) -> None:
    """A client MUST NOT leave two fragments that start at one entry, nor an empty one."""
    writer, (first, second), (spare,) = with_spares(stage, 2)
    first.on("add").answer(EIO)
    writer.append()
    check_fragments(stage, writer, {0: [spare, second]})
    stage.check("ids", [writer.append(), writer.append()], [1, 2])


@case(
    "BKW-CENS-005",
    MUST,
    "sec-fragments",
    sends="Four appends at once; the bookie acknowledges 0 and 1, holds 2 and 3 back, and vanishes.",
    accepts="The new fragment starts at 2, and its bookie gets 2 and 3, byte for byte as they were sent before.",
    provenance="seen with Java's client 4.18.0",
)
def what_was_not_acknowledged_is_sent_again_as_it_was(stage: Stage) -> None:
    """A client MUST send pending entries to the new bookie unchanged; its fragment starts at the first of them."""
    writer, (first, second), (spare,) = with_spares(stage, 2)
    gate = second.on("add", entry_id=lambda entry_id: entry_id >= 2).hold()
    pending = writer.begin_append_many([b"a", b"b", b"c", b"d"])
    stage.together(lambda: len(gate.requests), 2)
    stage.wait_until(lambda: writer.last_add_confirmed() == 1, "entries 0 and 1 are acknowledged")
    sent = {add.entry_id: add.body for add in gate.requests}
    second.stop()
    stage.check("the ids", writer.outcomes(pending).entries, (0, 1, 2, 3))
    check_fragments(stage, writer, {0: [first, second], 2: [first, spare]})
    stage.check("entries of the new bookie", spare.entries(writer.ledger_id), sent)


@case(
    "BKW-CENS-011",
    MUST,
    "sec-recovery-writer",
    sends="The metadata of the ledger are set to IN_RECOVERY, then a bookie refuses an add with EIO.",
    accepts="The append fails, and the client does not write the metadata any more.",
    provenance="seen with Java's client 4.18.0",
)
def no_ensemble_is_changed_under_a_recovery(stage: Stage) -> None:
    """A client MUST NOT change the ensemble of a ledger that is being recovered; the writer is out."""
    writer, (first, _), _ = with_spares(stage, 2)
    writer.append()
    stage.root.change(writer.ledger_id, lambda record: attrs.evolve(record, state=IN_RECOVERY))
    before = stage.root.raw(writer.ledger_id)
    first.on("add").answer(EIO)
    stage.expect_error(writer.begin("append", body=b"x"))
    stage.check("the metadata", stage.root.raw(writer.ledger_id), before)


@case(
    "BKW-CENS-012",
    MUST,
    "sec-ledger-states",
    sends="Somebody replaces a bookie of an old fragment in the metadata; then a bookie of the last fragment fails.",
    accepts="The append is acknowledged, and the metadata have both changes.",
    provenance="seen with Java's client 4.18.0",
)
def a_change_of_the_metadata_by_another_is_kept(stage: Stage) -> None:
    """A client MUST change metadata by compare and set on what it has read, and keep what others have changed."""
    writer, (first, second), spares = with_spares(stage, 2, spares=3)
    writer.append()
    first.on("add").answer(EIO)
    writer.append()
    (_, ensemble) = fragments_of(stage, writer).values()
    others = [each for each in spares if each not in ensemble]
    moved = (others[0].bookie_id, second.bookie_id)
    stage.unregister(others[0])
    stage.settle()
    stage.root.change(writer.ledger_id, lambda record: attrs.evolve(record, fragments={**record.fragments, 0: moved}))
    ensemble[0].on("add").answer(EIO)
    stage.check("the entry", writer.append(), 2)
    check_fragments(stage, writer, {0: [others[0], second], 1: ensemble, 2: [others[1], second]})

"""Late replies of a bookie that has been replaced, though it was never silent."""

from compat_tests.client.stage import Stage
from compat_tests.client.writers import check_fragments, with_spares
from compat_tests.judge.case import MUST, case
from protocol_specs.wire.status import EIO

NOT_YET_S = 0.3


@case(
    "BKW-CENS-014",
    MUST,
    "sec-add-entry-client",
    sends="One of two bookies refuses the first of two adds in flight, and is replaced by one that holds the second; "
    "then it answers EOK to the second.",
    accepts="No acknowledgement of the second by that; one when the new bookie answers.",
    limit_s=20.0,
    provenance="docs: add-entry",
)
def a_replaced_bookie_does_not_count_for_what_was_in_flight(stage: Stage) -> None:
    """A client MUST NOT count a bookie that was replaced for the entries that it was sent before: the fragment that
    they are in does not name it."""
    writer, (first, second), (spare,) = with_spares(stage, 2)
    refused = second.on("add", entry_id=0).hold()
    late = second.on("add", entry_id=1).hold()
    held = spare.on("add", entry_id=1).hold()
    pending = writer.begin_append_many([b"x", b"y"])
    stage.together(lambda: len(refused.requests) + len(late.requests), 2)
    refused.release(status=EIO)
    held.wait()
    check_fragments(stage, writer, {0: [first, spare]})
    late.release()
    stage.wait(NOT_YET_S)
    stage.check("acknowledged by a bookie that was replaced", pending.done, False)
    held.release()
    stage.check("the entries", writer.outcomes(pending).entries, (0, 1))

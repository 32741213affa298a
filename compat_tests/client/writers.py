"""Writers whose bookies are about to fail, and what their ledgers look like afterwards."""

from compat_tests.client.driven_client import Handle
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.stage import Stage


def with_spares(
    stage: Stage, count: int, spares: int = 1, ack: int | None = None, silence_ms: int | None = None
) -> tuple[Handle, list[ScriptedBookie], list[ScriptedBookie]]:
    """A writer, its bookies by place, and bookies that are free.

    ``silence_ms`` is its time-out where a bookie is silent on purpose.
    """
    bookies = stage.bookies(count)
    client = stage.client if silence_ms is None else stage.impatient_client(silence_ms)
    writer = stage.new_writer(bookies, ack=ack, client=client)
    others = stage.bookies(spares) if spares else []
    stage.settle(client)
    return writer, stage.ensemble(writer.ledger_id), others


def fragments_of(stage: Stage, writer: Handle) -> dict[int, list[ScriptedBookie]]:
    found = stage.metadata(writer.ledger_id).fragments
    return {first: [stage.bookie(each) for each in found[first]] for first in sorted(found)}


def check_fragments(stage: Stage, writer: Handle, expected: dict[int, list[ScriptedBookie]]) -> None:
    def named(fragments: dict[int, list[ScriptedBookie]]) -> dict[int, list[str]]:
        return {first: [bookie.name for bookie in bookies] for first, bookies in fragments.items()}

    stage.check("the fragments", named(fragments_of(stage, writer)), named(expected))

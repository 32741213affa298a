"""``/api/v1/bookie/last_log_mark``: the position in each journal from which a start replays it."""

from collections.abc import Sequence

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.journal.at_start import JournalsAtStart
from bookkeeper_tx.bookie.journal.last_mark import LogMark, marks_of


async def last_log_mark(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Not found method. Should be GET method", NOT_FOUND)
    try:
        mark = await bookie.threads.run(_read, bookie)
    except Exception as error:  # Java answers whatever it is so
        return Answer(f"ERROR handling request: {error}", NOT_FOUND)
    return json_answer(_told(marks_of(mark), bookie.journal_directories))


def _told(marks: Sequence[LogMark], directories: Sequence[str]) -> dict[str, str]:
    """Return the marks in Java's words; where files of several journals have one name, with their directories."""
    ids = [mark.journal_id for mark in marks]
    told = {}
    for mark, directory in zip(marks, directories, strict=True):
        name = f"LastLogMark: Journal Id - {mark.journal_id}({mark.journal_id:x}.txn)"
        told[name if ids.count(mark.journal_id) == 1 else f"{name} in {directory}"] = f"Pos - {mark.offset}"
    return told


def _read(bookie: Administered) -> LogMark:
    return JournalsAtStart(bookie.disk, bookie.journal_directories, bookie.ledger_directories).read_mark()

"""``/api/v1/bookie/last_log_mark``: the position in each journal from which a start replays it."""

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
    return json_answer(
        {
            f"LastLogMark: Journal Id - {each.journal_id}({each.journal_id:x}.txn)": f"Pos - {each.offset}"
            for each in marks_of(mark)
        }
    )


def _read(bookie: Administered) -> LogMark:
    return JournalsAtStart(bookie.disk, bookie.journal_directories, bookie.ledger_directories).read_mark()

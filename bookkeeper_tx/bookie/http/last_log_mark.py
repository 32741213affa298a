"""``/api/v1/bookie/last_log_mark``: the position in the journal from which a start replays it."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import NOT_FOUND, Answer, json_answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.journal.last_mark import read_last_mark


async def last_log_mark(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer("Not found method. Should be GET method", NOT_FOUND)
    try:
        mark = await bookie.threads.run(read_last_mark, bookie.disk, [bookie.directories.ledger])
    except Exception as error:  # Java answers whatever it is so
        return Answer(f"ERROR handling request: {error}", NOT_FOUND)
    journal = f"LastLogMark: Journal Id - {mark.journal_id}({mark.journal_id:x}.txn)"
    return json_answer({journal: f"Pos - {mark.offset}"})

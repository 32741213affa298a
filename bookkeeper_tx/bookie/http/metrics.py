"""``/metrics``: the metrics, for Prometheus."""

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import FORBIDDEN, OK, Answer
from bookkeeper_tx.bookie.http.call import Call

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def metrics(call: Call, bookie: Administered) -> Answer:
    if call.method != "GET":
        return Answer(f"{call.method} is forbidden. Should be GET method", FORBIDDEN)
    return Answer(bookie.metrics(), OK, CONTENT_TYPE)

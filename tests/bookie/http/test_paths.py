"""bookkeeper_tx.bookie.http.paths: what an endpoint says to a method without use for it, which is what Java says."""

import pytest

from bookkeeper_tx.bookie.http.paths import PATHS
from tests.bookie.http.asked import Asked

ONLY_GET = "Not found method. Should be GET method"
LOCATION = (
    "Not found method. Should be PUT to trigger entry location compact, Or GET to get entry location compact state."
)
REFUSED = {
    "/metrics": (403, "POST is forbidden. Should be GET method"),
    "/api/v1/config/server_config": (404, "Request body not found. should contains k-v pairs"),
    "/api/v1/ledger/delete": (404, "Not found method. Should be DELETE method"),
    "/api/v1/ledger/list": (404, ONLY_GET),
    "/api/v1/ledger/metadata": (404, ONLY_GET),
    "/api/v1/ledger/read": (404, f"{ONLY_GET}, with ledger_id provided"),
    "/api/v1/bookie/list_bookies": (404, ONLY_GET),
    "/api/v1/bookie/list_bookie_info": (404, ONLY_GET),
    "/api/v1/bookie/last_log_mark": (404, ONLY_GET),
    "/api/v1/bookie/list_disk_file": (404, ONLY_GET),
    "/api/v1/bookie/expand_storage": (404, "Not found method. Should be PUT method"),
    "/api/v1/bookie/gc": (405, "Not allowed method. Should be PUT to trigger GC, Or GET to get Force GC state."),
    "/api/v1/bookie/gc_details": (
        404,
        "Only support GET method to retrieve GC details. If you want to trigger gc, send a POST to gc endpoint.",
    ),
    "/api/v1/bookie/gc/suspend_compaction": (
        404,
        "Not found method. Should be PUT to suspend major or minor compaction, Or GET to get compaction state.",
    ),
    "/api/v1/bookie/gc/resume_compaction": (
        404,
        "Not found method. Should be PUT to resume major or minor compaction, Or GET to get compaction state.",
    ),
    "/api/v1/bookie/state": (404, "Only support GET method to retrieve bookie state."),
    "/api/v1/bookie/state/readonly": (404, "Unsupported method. Should be GET or PUT method"),
    "/api/v1/bookie/sanity": (404, "Only support GET method to retrieve bookie sanity state."),
    "/api/v1/bookie/is_ready": (404, "Only support GET method check if bookie is ready."),
    "/api/v1/bookie/info": (404, "Only GET is supported."),
    "/api/v1/bookie/cluster_info": (404, "Only GET is supported."),
    "/api/v1/bookie/entry_location_compact": (405, LOCATION),
}


@pytest.mark.parametrize("path", REFUSED)
def test_a_method_without_use_is_refused_in_javas_words(asked: Asked, path: str) -> None:
    reply = asked.ask(path, "POST")
    assert (reply.status, reply.text) == REFUSED[path]


def test_only_the_heartbeat_takes_every_method(asked: Asked) -> None:
    assert PATHS.keys() - REFUSED.keys() == {"/heartbeat"}
    assert {asked.ask("/heartbeat", method).text for method in ("GET", "PUT", "POST", "DELETE")} == {"OK\n"}


def test_metrics_are_text_that_prometheus_reads(asked: Asked) -> None:
    reply = asked.ask("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert reply.text == "bookie_SERVER_STATUS 1.0\n"

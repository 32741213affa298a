"""Requests to the HTTP API, and how far the answers of our bookie are those of Java's: the table of bookie-http.md."""

from __future__ import annotations

from typing import Final

from attrs import frozen

API = "/api/v1"
BOOKIE, LEDGER, CONFIG = f"{API}/bookie", f"{API}/ledger", f"{API}/config/server_config"

DIRECTORY: Final = "DIRECTORY"
"""Stands for the ledger directory of the bookie that is asked."""

SAME: Final = "same"
"""Status and body; JSON is compared as such, the address of the bookie and its directory taken for the same."""
SHAPE: Final = "shape"
"""Status and JSON, but for its values: sizes, times and names of files are each bookie's own."""
STATUS: Final = "status"
"""The status: ours says what was wrong with the request, where Java says nothing, or has another sentence."""


@frozen
class Request:
    """One request, and what of its answers is compared."""

    path: str
    alike: str = SAME
    method: str = "GET"
    body: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.body}".strip()


def put(path: str, body: str = "", alike: str = SAME) -> Request:
    return Request(path, alike, "PUT", body)


def _other_methods(path: str, *used: str) -> list[Request]:
    """The methods that an endpoint has no use for."""
    return [Request(path, SAME, method) for method in ("GET", "PUT", "POST", "DELETE") if method not in used]


SERVER = [
    *(Request("/heartbeat", method=method) for method in ("GET", "PUT", "POST", "DELETE")),
    Request("/heartbeat/"),
    Request("/heartbeat", STATUS, "PATCH"),
    Request("/nothing", STATUS),
    Request(f"{BOOKIE}/nothing", STATUS),
    *_other_methods("/metrics", "GET"),
    put(CONFIG),
    put(CONFIG, "{", STATUS),
    put(CONFIG, "[]", STATUS),
    *_other_methods(CONFIG, "GET", "PUT"),
]

STATES = [
    Request(f"{BOOKIE}/is_ready"),
    Request(f"{BOOKIE}/state"),
    *_other_methods(f"{BOOKIE}/is_ready", "GET"),
    *_other_methods(f"{BOOKIE}/state", "GET"),
    *_other_methods(f"{BOOKIE}/state/readonly", "GET", "PUT"),
    Request(f"{BOOKIE}/state/readonly"),
    put(f"{BOOKIE}/state/readonly", alike=STATUS),
    put(f"{BOOKIE}/state/readonly", "{", STATUS),
    put(f"{BOOKIE}/state/readonly", '{"other": true}', STATUS),
    put(f"{BOOKIE}/state/readonly", '{"readOnly": "x"}', STATUS),
    put(f"{BOOKIE}/state/readonly", "{}"),
    put(f"{BOOKIE}/state/readonly", '{"readOnly": true}'),
    Request(f"{BOOKIE}/state"),
    Request(f"{BOOKIE}/is_ready"),
    put(f"{BOOKIE}/state/readonly", '{"readOnly": false}'),
    Request(f"{BOOKIE}/state"),
]

FILES = [
    Request(f"{BOOKIE}/info", SHAPE),
    *_other_methods(f"{BOOKIE}/info", "GET"),
    *_other_methods(f"{BOOKIE}/last_log_mark", "GET"),
    *(Request(f"{BOOKIE}/list_disk_file{query}", SHAPE) for query in ("", "?file_type=journal", "?file_type=x")),
    *(Request(f"{BOOKIE}/list_disk_file?file_type={kind}", SHAPE) for kind in ("entrylog", "index")),
    *_other_methods(f"{BOOKIE}/list_disk_file", "GET"),
    put(f"{BOOKIE}/expand_storage"),
    *_other_methods(f"{BOOKIE}/expand_storage", "PUT"),
]

GARBAGE = [
    Request(f"{BOOKIE}/gc"),
    put(f"{BOOKIE}/gc"),
    put(f"{BOOKIE}/gc", '{"forceMajor": false, "forceMinor": "x"}'),
    put(f"{BOOKIE}/gc", "{"),
    put(f"{BOOKIE}/gc", "[]"),
    put(f"{BOOKIE}/gc", '{"forceMajor": null}', STATUS),
    *_other_methods(f"{BOOKIE}/gc", "GET", "PUT"),
    Request(f"{BOOKIE}/gc_details", SHAPE),
    *_other_methods(f"{BOOKIE}/gc_details", "GET"),
    Request(f"{BOOKIE}/gc/suspend_compaction"),
    *_other_methods(f"{BOOKIE}/gc/suspend_compaction", "GET", "PUT"),
    *_other_methods(f"{BOOKIE}/gc/resume_compaction", "PUT"),
    *(
        request
        for what in ("suspend", "resume")
        for request in (
            put(f"{BOOKIE}/gc/{what}_compaction"),
            put(f"{BOOKIE}/gc/{what}_compaction", "{}"),
            put(f"{BOOKIE}/gc/{what}_compaction", "{", STATUS),
            put(f"{BOOKIE}/gc/{what}_compaction", f'{{"{what}Major": "x"}}', STATUS),
            put(f"{BOOKIE}/gc/{what}_compaction", f'{{"{what}Major": true}}'),
            put(f"{BOOKIE}/gc/{what}_compaction", f'{{"{what}Minor": true}}'),
            put(f"{BOOKIE}/gc/{what}_compaction", f'{{"{what}Major": true, "{what}Minor": true}}'),
            put(f"{BOOKIE}/gc/{what}_compaction", f'{{"{what}Major": false}}'),
        )
    ),
    Request(f"{BOOKIE}/gc/suspend_compaction"),
    Request(f"{BOOKIE}/entry_location_compact"),
    put(f"{BOOKIE}/entry_location_compact"),
    put(f"{BOOKIE}/entry_location_compact", "{"),
    put(f"{BOOKIE}/entry_location_compact", "{}"),
    put(f"{BOOKIE}/entry_location_compact", '{"entryLocationRocksDBCompact": "x"}', STATUS),
    put(f"{BOOKIE}/entry_location_compact", '{"entryLocationRocksDBCompact": false}'),
    put(f"{BOOKIE}/entry_location_compact", '{"entryLocationRocksDBCompact": true}'),
    *(
        put(f"{BOOKIE}/entry_location_compact", f'{{"entryLocationRocksDBCompact": true, "entryLocations": "{paths}"}}')
        for paths in ("/x", f"{DIRECTORY}/current/locations", f"{DIRECTORY}/current/locations,/x")
    ),
    *_other_methods(f"{BOOKIE}/entry_location_compact", "GET", "PUT"),
]

CLUSTER = [
    Request(f"{BOOKIE}/list_bookies"),
    Request(f"{BOOKIE}/list_bookies?type=ro"),
    Request(f"{BOOKIE}/list_bookies?type=rw&print_hostnames=true"),
    *_other_methods(f"{BOOKIE}/list_bookies", "GET"),
    Request(f"{BOOKIE}/list_bookie_info", SHAPE),
    *_other_methods(f"{BOOKIE}/list_bookie_info", "GET"),
    Request(f"{BOOKIE}/cluster_info"),
    *_other_methods(f"{BOOKIE}/cluster_info", "GET"),
    Request(f"{BOOKIE}/sanity"),
    *_other_methods(f"{BOOKIE}/sanity", "GET"),
]

#: Ledger 0 is open and has 3003 entries, ledger 1 is closed and has another password and one entry.
LEDGERS = [
    Request(f"{LEDGER}/list"),
    Request(f"{LEDGER}/list?page=x"),
    Request(f"{LEDGER}/list?ledger_scope_id=0"),
    Request(f"{LEDGER}/list?print_metadata=true", SHAPE),
    Request(f"{LEDGER}/list?print_metadata=true&page=1", SHAPE),
    Request(f"{LEDGER}/list?print_metadata=true&page=2"),
    Request(f"{LEDGER}/list?print_metadata=true&page=0", SHAPE),
    Request(f"{LEDGER}/list?print_metadata=true&page=x", STATUS),
    Request(f"{LEDGER}/list?print_metadata=true&decode_meta=true"),
    *_other_methods(f"{LEDGER}/list", "GET"),
    Request(f"{LEDGER}/metadata"),
    *(Request(f"{LEDGER}/metadata?ledger_id={ledger_id}") for ledger_id in (0, 1)),
    *(Request(f"{LEDGER}/metadata?ledger_id={ledger_id}", STATUS) for ledger_id in (77, "x", "", -1)),
    *_other_methods(f"{LEDGER}/metadata?ledger_id=0", "GET"),
    Request(f"{LEDGER}/read"),
    Request(f"{LEDGER}/read?ledger_id=0"),
    Request(f"{LEDGER}/read?ledger_id=1"),
    *(Request(f"{LEDGER}/read?ledger_id={ledger_id}", STATUS) for ledger_id in (77, "x")),
    *(
        Request(f"{LEDGER}/read?ledger_id=0&{query}")
        for query in (
            "start_entry_id=2999",
            "start_entry_id=3000&end_entry_id=3009",
            "start_entry_id=9000&end_entry_id=9009",
            "start_entry_id=9000",
            "start_entry_id=5&end_entry_id=3",
            "start_entry_id=3000&end_entry_id=-2",
            "page=1",
            "page=4",
            "page=9",
            "page=3&start_entry_id=2999",
            "page=4&start_entry_id=3000&end_entry_id=3001",
            "page=2&start_entry_id=3000&end_entry_id=3001",
            "page=-5&start_entry_id=3000",
        )
    ),
    Request(f"{LEDGER}/read?ledger_id=0&start_entry_id=-1&end_entry_id=3", STATUS),
    Request(f"{LEDGER}/read?ledger_id=0&start_entry_id=x", STATUS),
    *_other_methods(f"{LEDGER}/read?ledger_id=0", "GET"),
    Request(f"{LEDGER}/delete", method="DELETE"),
    Request(f"{LEDGER}/delete?ledger_id=x", STATUS, "DELETE"),
    *_other_methods(f"{LEDGER}/delete?ledger_id=1", "DELETE"),
    *(Request(f"{LEDGER}/delete?ledger_id={ledger_id}", method="DELETE") for ledger_id in (77, 1, 1)),
    Request(f"{LEDGER}/list"),
]

REQUESTS: Final = {
    "server": SERVER,
    "states": STATES,
    "files": FILES,
    "garbage": GARBAGE,
    "cluster": CLUSTER,
    "ledgers": LEDGERS,
}
"""By part of the API; those of a part come in this order."""

OUR_OWN: Final = {
    f"{BOOKIE}/gc_details": "the times of the last compactions",
    f"{BOOKIE}/last_log_mark": "the position is each journal's own",
    CONFIG: "the settings in effect, where Java tells those of its file",
    "/metrics": "compared by name in metrics.md",
}
"""What a GET of these answers is not compared value by value, and why."""

"""The id and the registration that a bookie publishes to the cluster."""

import re

BOOKIE_ID = re.compile(r"[a-zA-Z0-9:-_.\-]+")
"""Allowed bookie ids; ``:-_`` is a range, here as in Java's ``BookieId``, so ``;<=>?@[\\]^`` are allowed as well."""

RESERVED_BOOKIE_ID = "readonly"
"""No bookie may have this id: the node of the read-only bookies is among the nodes of the writable ones."""

BOOKIE_RPC = "bookie-rpc"
"""``protocol`` of the endpoint that clients connect to.  The registration's data is a BookieServiceInfo of
``formats.proto``; releases up to 4.9 leave it empty, which means: connect to the ``host:port`` of the bookie id."""

BOOKIE_ENDPOINT_ID = "bookie"
"""``id`` of that endpoint."""

HTTP = "http"
"""``protocol`` of the endpoint of the HTTP API, if there is one.  Clients do not use it."""

HTTP_ENDPOINT_ID = "httpserver"
"""``id`` of that endpoint."""

TLS = "tls"
"""Extension of an endpoint: START_TLS is served.  Java publishes it too."""

LEDGER_SCOPE_ID = "ledger-scope-id"
"""Extension of an endpoint, ours: ledger ids of 128 bits (BP-34) are served, over V3."""

BATCH_READ_V3 = "batch-read-v3"
"""Extension of an endpoint, ours: operation 12 of V3 (BP-62) is served."""

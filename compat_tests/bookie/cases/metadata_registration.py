"""The registration of a bookie: that it is there, where to connect, and the features that it publishes."""

from contextlib import closing

from compat_tests.bookie.metadata_tree import endpoint_of, layout_class, parse_service_info, tree_of
from compat_tests.bookie.talk import OwnTalk, Talk
from compat_tests.judge.case import MUST, SHOULD, V2, case
from compat_tests.wire.line import Line
from protocol_specs.metadata import bookie as names
from protocol_specs.metadata import layout

_NOTHING = "Nothing to the bookie; its cluster's ZooKeeper is looked into."
_OWN_LIMIT_S = 60.0

#: How long a session may outlive an orderly end.
_GONE_WITHIN_S = 10.0

_METADATA = ("metadata",)

#: Extensions that promise something to clients, and the feature that is promised.
_PROMISES = {names.LEDGER_SCOPE_ID: "scopes", names.BATCH_READ_V3: "batch-read-v3"}


@case(
    "BKW-META-001",
    MUST,
    "sec-tree",
    sends=_NOTHING,
    accepts="An ephemeral node named by the bookie's id below `available`, and none below `available/readonly`.",
    dialects=(V2,),
    needs=_METADATA,
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.9.2 to 4.18.0",
)
def a_writable_bookie_is_registered(talk: Talk) -> None:
    """A bookie that takes writes MUST register below `available`, by a node that goes with its session."""
    with tree_of(talk) as tree:
        name = tree.registered_id()
        talk.check("the node below available is ephemeral", tree.get(layout.AVAILABLE, name).ephemeral, True)
        read_only = tree.find(layout.AVAILABLE, layout.READ_ONLY, name)
        talk.check("the node below available/readonly", read_only, None)


@case(
    "BKW-META-002",
    MUST,
    "sec-tree",
    sends=_NOTHING,
    accepts="An ephemeral node named by the bookie's id below `available/readonly`, and none below `available`.",
    dialects=(V2,),
    needs=_METADATA,
    site="read-only",
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.9.2 to 4.18.0",
)
def a_read_only_bookie_is_registered_as_such(talk: Talk) -> None:
    """A bookie that takes no writes MUST register below `available/readonly` only, or clients would write to it."""
    with tree_of(talk) as tree:
        name = tree.registered_id()
        talk.check("the node below available", tree.find(layout.AVAILABLE, name), None)
        node = tree.get(layout.AVAILABLE, layout.READ_ONLY, name)
        talk.check("the node below available/readonly is ephemeral", node.ephemeral, True)


@case(
    "BKW-META-003",
    MUST,
    "sec-bookie-id",
    sends=_NOTHING,
    accepts="An id of the allowed signs, which is not `readonly`.",
    dialects=(V2,),
    needs=_METADATA,
    provenance="the source of Java 4.9 to 4.18",
)
def a_bookie_id_has_allowed_signs_only(talk: Talk) -> None:
    """The id under which a bookie registers MUST match `[a-zA-Z0-9:-_.\\-]+`, and MUST NOT be `readonly`."""
    with tree_of(talk) as tree:
        name = tree.registered_id()
    talk.check_that(bool(names.BOOKIE_ID.fullmatch(name)), "the bookie id", names.BOOKIE_ID.pattern, name)
    talk.check_that(name != names.RESERVED_BOOKIE_ID, "the bookie id", "another than readonly", name)


@case(
    "BKW-META-004",
    MUST,
    "sec-service-info",
    sends="A read to the address that the registration gives.",
    accepts="No data, where the id is `host:port`; else a BookieServiceInfo with one endpoint of protocol bookie-rpc. "
    "A bookie answers there.",
    dialects=(V2,),
    needs=_METADATA,
    provenance="BP-38; the source of Java 4.9 to 4.18; seen of Java 4.9.2 (no data) and 4.14.7 to 4.18.0",
)
def the_registration_says_where_to_connect(talk: Talk) -> None:
    """What a bookie registers MUST lead clients to it: by its id when it is empty, else by its bookie-rpc endpoint."""
    with tree_of(talk) as tree:
        name, data = tree.registered_id(), tree.registration().data
    if data:
        endpoint = endpoint_of(parse_service_info(data))
        host, port = endpoint.host, endpoint.port
    else:
        host, _, digits = name.rpartition(":")
        talk.check_that(bool(host) and digits.isdecimal(), "the id of a bookie without data", "host:port", name)
        port = int(digits)
    with closing(Line.to((host, port), "registered", talk.recording, talk.deadline, talk.brief.stopped)) as line:
        talk.expect_open(line)


@case(
    "BKW-META-005",
    SHOULD,
    "sec-service-info",
    sends=_NOTHING,
    accepts="Data that are not empty.",
    dialects=(V2,),
    needs=_METADATA,
    since="4.11",
    provenance="BP-38; seen of Java 4.14.7 to 4.18.0",
)
def a_bookie_publishes_its_endpoints(talk: Talk) -> None:
    """A bookie SHOULD publish its endpoints rather than leave it to clients to read its id."""
    with tree_of(talk) as tree:
        talk.check_that(bool(tree.registration().data), "the registration", "a BookieServiceInfo", "no data")


@case(
    "BKW-META-006",
    MUST,
    "sec-service-info",
    sends=_NOTHING,
    accepts="The endpoint of protocol bookie-rpc has the id `bookie`.",
    dialects=(V2,),
    needs=_METADATA,
    since="4.11",
    provenance="BP-38; seen of Java 4.14.7 to 4.18.0",
)
def the_endpoint_of_the_protocol_is_called_bookie(talk: Talk) -> None:
    """The endpoint that clients connect to MUST have the id `bookie`."""
    with tree_of(talk) as tree:
        endpoint = endpoint_of(tree.service_info())
    talk.check("the id of the endpoint", endpoint.id, names.BOOKIE_ENDPOINT_ID)


@case(
    "BKW-META-007",
    MUST,
    "sec-service-info",
    sends=_NOTHING,
    accepts="Each endpoint has an id of its own and a port from 1 to 65535.",
    dialects=(V2,),
    needs=_METADATA,
    since="4.11",
    provenance="BP-38; the source of Java 4.9 to 4.18",
)
def endpoints_can_be_told_apart(talk: Talk) -> None:
    """The endpoints that a bookie publishes MUST differ in their ids, and MUST name a port that can be connected to."""
    with tree_of(talk) as tree:
        endpoints = tree.service_info().endpoints
    ids = [endpoint.id for endpoint in endpoints]
    talk.check("the ids of the endpoints", sorted(ids), sorted(set(ids)))
    for endpoint in endpoints:
        talk.check_that(0 < endpoint.port < 1 << 16, f"the port of {endpoint.id}", "1 to 65535", endpoint.port)
        talk.check_that(bool(endpoint.host), f"the host of {endpoint.id}", "a host", "none")


@case(
    "BKW-META-008",
    SHOULD,
    "sec-extensions",
    sends=_NOTHING,
    accepts="The extension `tls`.",
    dialects=(V2,),
    needs=_METADATA,
    site="tls",
    since="4.11",
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.14.7 to 4.18.0",
)
def a_bookie_that_serves_tls_says_so(talk: Talk) -> None:
    """A bookie that serves START_TLS SHOULD publish the extension `tls`."""
    with tree_of(talk) as tree:
        found = list(endpoint_of(tree.service_info()).extensions)
    talk.check_that(names.TLS in found, "the extensions", names.TLS, found)


@case(
    "BKW-META-009",
    MUST,
    "sec-extensions",
    sends=_NOTHING,
    accepts="No extension `ledger-scope-id` or `batch-read-v3`, unless what it promises was found to be served.",
    dialects=(V2,),
    needs=_METADATA,
    since="4.11",
    provenance="a rule of this reference",
)
def a_bookie_promises_only_what_it_serves(talk: Talk) -> None:
    """A bookie MUST NOT publish an extension for something that it does not serve: clients rely on it untried."""
    with tree_of(talk) as tree:
        found = list(endpoint_of(tree.service_info()).extensions)
    for extension, feature in _PROMISES.items():
        if extension in found:
            talk.check_that(feature in talk.features, f"the extension {extension}", "what it promises", "not served")


@case(
    "BKW-META-010",
    MUST,
    "sec-extensions",
    sends=_NOTHING,
    accepts="The extension `ledger-scope-id`.",
    dialects=(V2,),
    needs=("metadata", "scopes"),
    provenance="BP-34 of 2017; a rule of this reference",
)
def a_bookie_that_serves_scopes_says_so(talk: Talk) -> None:
    """A bookie that serves ledger ids of 128 bits MUST publish `ledger-scope-id`: others would take half of an id."""
    with tree_of(talk) as tree:
        found = list(endpoint_of(tree.service_info()).extensions)
    talk.check_that(names.LEDGER_SCOPE_ID in found, "the extensions", names.LEDGER_SCOPE_ID, found)


@case(
    "BKW-META-011",
    SHOULD,
    "sec-extensions",
    sends=_NOTHING,
    accepts="The extension `batch-read-v3`.",
    dialects=(V2,),
    needs=("metadata", "batch-read-v3"),
    provenance="BP-62; a rule of this reference",
)
def a_bookie_that_serves_batches_over_v3_says_so(talk: Talk) -> None:
    """A bookie that serves batch read over V3 SHOULD publish `batch-read-v3`, so that clients need not try."""
    with tree_of(talk) as tree:
        found = list(endpoint_of(tree.service_info()).extensions)
    talk.check_that(names.BATCH_READ_V3 in found, "the extensions", names.BATCH_READ_V3, found)


@case(
    "BKW-META-012",
    MUST,
    "sec-tree",
    sends="Nothing; the bookie is stopped in order.",
    accepts=f"Its registration is gone within {_GONE_WITHIN_S:.0f} s.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_OWN_LIMIT_S,
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.9.2 to 4.18.0",
)
def a_bookie_that_was_stopped_is_not_registered(talk: OwnTalk) -> None:
    """A bookie that ends in order MUST end its session: clients would wait for it until that expires."""
    with tree_of(talk) as tree:
        name = tree.registered_id()
        talk.bookie.stop()
        talk.wait_until(lambda: name not in tree.children(layout.AVAILABLE), "the registration is gone", _GONE_WITHIN_S)


@case(
    "BKW-META-013",
    MUST,
    "sec-tree",
    sends="Nothing; the bookie is stopped and started again.",
    accepts="It is registered under the id that it had.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_OWN_LIMIT_S,
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.9.2 to 4.18.0",
)
def a_bookie_keeps_its_id(talk: OwnTalk) -> None:
    """A bookie that starts again on its directories MUST register under the id that ledgers name it by."""
    with tree_of(talk) as tree:
        name = tree.registered_id()
        talk.bookie.restart()
        talk.check("the id after a restart", tree.registered_id(), name)
        talk.check("the writable bookies", sorted(set(tree.children(layout.AVAILABLE)) - {layout.READ_ONLY}), [name])


@case(
    "BKW-META-014",
    MUST,
    "sec-layout-record",
    sends="Nothing; the bookie is started on a cluster that was made before, and once more.",
    accepts="LAYOUT and INSTANCEID have the bytes that they had.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_OWN_LIMIT_S,
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.9.2 to 4.18.0",
)
def a_bookie_leaves_the_cluster_as_it_is(talk: OwnTalk) -> None:
    """A bookie MUST leave LAYOUT and INSTANCEID of its cluster alone, which are of the documented form."""
    with tree_of(talk) as tree:
        records = tree.get(layout.LAYOUT), tree.get(layout.INSTANCE_ID)
        known = list(layout.FACTORY_CLASS_OF.values())
        talk.check_one_of("the class in LAYOUT", layout_class(records[0].data), known)
        talk.check("the length of INSTANCEID", len(records[1].data), layout.INSTANCE_ID_RECORD.sizeof())
        talk.bookie.restart()
        talk.check("LAYOUT and INSTANCEID", (tree.get(layout.LAYOUT), tree.get(layout.INSTANCE_ID)), records)

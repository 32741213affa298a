"""The cookie in the metadata store: what it says, and on what a bookie refuses to start."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import NAMESPACE_OID, uuid5

from compat_tests.bookie.metadata_tree import Tree, tree_of
from compat_tests.bookie.talk import OwnTalk, Talk
from compat_tests.judge.case import MUST, V2, case
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.process import StartFailed
from protocol_specs.codecs import Malformed
from protocol_specs.disk import cookie as cookies
from protocol_specs.metadata import layout
from protocol_specs.wire.status import EOK

_NOTHING = "Nothing to the bookie; its cluster's ZooKeeper is looked into."

#: A start and a start that is refused, of the slowest bookie on a machine that does other things too.
_LIMIT_S = 90.0

_METADATA = ("metadata",)


def _fields(data: bytes) -> tuple[int, dict[str, str]]:
    try:
        return cookies.parse(data)
    except Malformed as error:
        raise Mismatch("the cookie", "a line with a number, then protobuf text", f"{data!r}: {error}") from None


@case(
    "BKW-META-020",
    MUST,
    "sec-cookie-bytes",
    sends=_NOTHING,
    accepts="A persistent node `cookies/<bookie id>`: a layout version from 4 to 5, then protobuf text.",
    dialects=(V2,),
    needs=_METADATA,
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.9.2 to 4.18.0",
)
def a_bookie_leaves_its_cookie(talk: Talk) -> None:
    """A bookie MUST keep a cookie in the metadata store, of layout version 4 or 5, which outlives its session."""
    with tree_of(talk) as tree:
        node = tree.cookie()
    talk.check("the cookie's node is ephemeral", node.ephemeral, False)
    version, _ = _fields(node.data)
    talk.check_one_of("the layout version", version, [4, 5])


@case(
    "BKW-META-021",
    MUST,
    "sec-cookie-bytes",
    sends=_NOTHING,
    accepts="`bookieHost` is the id, and `instanceId` what is in INSTANCEID.",
    dialects=(V2,),
    needs=_METADATA,
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.9.2 to 4.18.0",
)
def a_cookie_names_bookie_and_cluster(talk: Talk) -> None:
    """A cookie MUST name the bookie by its id, and the cluster by its instance id."""
    with tree_of(talk) as tree:
        name, (_, found) = tree.registered_id(), _fields(tree.cookie().data)
        instance = tree.get(layout.INSTANCE_ID).data.decode()
    talk.check("bookieHost", found.get("bookieHost"), name)
    talk.check("instanceId", found.get("instanceId"), instance)


@case(
    "BKW-META-022",
    MUST,
    "sec-cookie-bytes",
    sends=_NOTHING,
    accepts="A journal directory; as many ledger directories as `ledgerDirs` says, and the same of `indexDirs`.",
    dialects=(V2,),
    needs=_METADATA,
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.9.2 to 4.18.0",
)
def a_cookie_names_the_directories(talk: Talk) -> None:
    """A cookie MUST name the journal directories, and the ledger directories behind their number and tabs."""
    with tree_of(talk) as tree:
        _, found = _fields(tree.cookie().data)
    talk.check_that(bool(found.get("journalDir")), "journalDir", "a path", found.get("journalDir", "none"))
    talk.check_that("ledgerDirs" in found, "ledgerDirs", "their number and their paths", "none")
    for name in ("ledgerDirs", "indexDirs"):
        if name in found:
            count, *paths = found[name].split("\t")
            talk.check(f"the number in {name}", count, str(len(paths)))
            talk.check_that(all(paths), f"the paths in {name}", "none that is empty", found[name])


@case(
    "BKW-META-023",
    MUST,
    "sec-cookie-start",
    sends="An add; the bookie is stopped and started again.",
    accepts="Its cookie has the bytes that it had, and the entry is there.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_LIMIT_S,
    provenance="the source of Java 4.9 to 4.18; seen of Java 4.9.2 to 4.18.0",
)
def a_cookie_stays(talk: OwnTalk) -> None:
    """A bookie that starts again on its own directories MUST leave its cookie as it is, and go on."""
    ledger_id = talk.new_ledger()
    talk.expect(talk.requests.add(ledger_id, 0), EOK)
    with tree_of(talk) as tree:
        before = tree.cookie()
        talk.bookie.restart()
        talk.check("the cookie after a restart", tree.cookie().data, before.data)
    talk.expect(talk.requests.read(ledger_id, 0), EOK)


@case(
    "BKW-META-024",
    MUST,
    "sec-cookie-start",
    sends="The cookie in the store is made that of another cluster while the bookie is stopped; later it is put back.",
    accepts="The bookie does not start; with its own cookie it does, and has its entry.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_LIMIT_S,
    provenance="the source of Java 4.9 to 4.18",
)
def a_cookie_of_another_cluster_is_refused(talk: OwnTalk) -> None:
    """A bookie MUST NOT start when the cookie in the store has another instance id than its directories."""
    with _while_stopped(talk) as tree:
        name, node = _the_cookie(tree)
        version, found = _fields(node)
        tree.put(cookies.build(version, {**found, "instanceId": _other_instance(found)}), layout.COOKIES, name)
        _refuses(talk, "a cookie of another cluster in the store")
        tree.put(node, layout.COOKIES, name)


@case(
    "BKW-META-025",
    MUST,
    "sec-cookie-start",
    sends="The cookie in the store gets other ledger directories while the bookie is stopped; later it is put back.",
    accepts="The bookie does not start; with its own cookie it does, and has its entry.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_LIMIT_S,
    provenance="the source of Java 4.9 to 4.18",
)
def a_cookie_of_other_directories_is_refused(talk: OwnTalk) -> None:
    """A bookie MUST NOT start when the cookie in the store names other ledger directories than its configuration."""
    with _while_stopped(talk) as tree:
        name, node = _the_cookie(tree)
        version, found = _fields(node)
        other = {**found, "ledgerDirs": "1\t/another/directory"}
        tree.put(cookies.build(version, other), layout.COOKIES, name)
        _refuses(talk, "a cookie with other ledger directories in the store")
        tree.put(node, layout.COOKIES, name)


@case(
    "BKW-META-026",
    MUST,
    "sec-cookie-start",
    sends="INSTANCEID is changed while the bookie is stopped; later it is put back.",
    accepts="The bookie does not start; with the old one it does, and has its entry.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_LIMIT_S,
    provenance="the source of Java 4.9 to 4.18",
)
def another_cluster_is_refused(talk: OwnTalk) -> None:
    """A bookie MUST NOT start in a cluster with another instance id than its cookie: its ledgers are unknown there."""
    with _while_stopped(talk) as tree:
        before = tree.get(layout.INSTANCE_ID).data
        tree.put(_other_instance({"instanceId": before.decode()}).encode(), layout.INSTANCE_ID)
        _refuses(talk, "another INSTANCEID")
        tree.put(before, layout.INSTANCE_ID)


@case(
    "BKW-META-027",
    MUST,
    "sec-cookie-start",
    sends="The cookie in the store is deleted while the bookie, which has an entry, is stopped; later it is put back.",
    accepts="The bookie does not start; with its cookie it does, and has its entry.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_LIMIT_S,
    provenance="the source of Java 4.14 to 4.18",
)
def directories_without_a_cookie_in_the_store_are_refused(talk: OwnTalk) -> None:
    """A bookie whose directories hold data MUST NOT start when the store has no cookie of it."""
    with _while_stopped(talk) as tree:
        name, node = _the_cookie(tree)
        tree.delete(layout.COOKIES, name)
        _refuses(talk, "no cookie in the store")
        talk.check("the cookie in the store", tree.find(layout.COOKIES, name), None)
        tree.make(node, layout.COOKIES, name)


@case(
    "BKW-META-028",
    MUST,
    "sec-layout-record",
    sends="LAYOUT is given a class that nobody knows while the bookie is stopped; later it is put back.",
    accepts="The bookie does not start, and leaves LAYOUT as it is; with the old one it starts, and has its entry.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_LIMIT_S,
    provenance="the source of Java 4.9 to 4.18",
)
def an_unknown_layout_is_refused(talk: OwnTalk) -> None:
    """A bookie MUST NOT start on a layout that it does not know."""
    _refuses_layout(talk, b"2\norg.example.UnknownLedgerManagerFactory:1")


@case(
    "BKW-META-029",
    MUST,
    "sec-layout-record",
    sends="LAYOUT is given format version 9 while the bookie is stopped; later it is put back.",
    accepts="The bookie does not start, and leaves LAYOUT as it is; with the old one it starts, and has its entry.",
    dialects=(V2,),
    needs=_METADATA,
    site="own",
    limit_s=_LIMIT_S,
    provenance="the source of Java 4.9 to 4.18",
)
def an_unknown_version_of_the_layout_is_refused(talk: OwnTalk) -> None:
    """A bookie MUST NOT start on a LAYOUT of a format version that it does not know."""
    _refuses_layout(talk, b"9\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1")


def _refuses_layout(talk: OwnTalk, other: bytes) -> None:
    with _while_stopped(talk) as tree:
        before = tree.get(layout.LAYOUT).data
        tree.put(other, layout.LAYOUT)
        _refuses(talk, f"LAYOUT {other!r}")
        talk.check("LAYOUT after the refusal", tree.get(layout.LAYOUT).data, other)
        tree.put(before, layout.LAYOUT)


@contextmanager
def _while_stopped(talk: OwnTalk) -> Iterator[Tree]:
    """A context in which the bookie is stopped; afterwards it is started, and must have its entry."""
    ledger_id = talk.new_ledger()
    talk.expect(talk.requests.add(ledger_id, 0), EOK)
    with tree_of(talk) as tree:
        talk.bookie.stop()
        yield tree
    talk.bookie.start()
    talk.expect(talk.requests.read(ledger_id, 0), EOK)


def _the_cookie(tree: Tree) -> tuple[str, bytes]:
    """The id and data of the one cookie of a cluster; its bookie need not be registered now."""
    found = tree.children(layout.COOKIES)
    if len(found) != 1:
        raise Mismatch("the cookies", "one, of the only bookie", ", ".join(found) or "none")
    return found[0], tree.get(layout.COOKIES, found[0]).data


def _refuses(talk: OwnTalk, what: str) -> None:
    try:
        talk.bookie.start()
    except StartFailed as refusal:
        talk.recording.note("", f"the bookie did not start: {str(refusal)[-500:]}")
        return
    talk.fail(f"a start on {what}", expected="refused", seen="started")


def _other_instance(found: dict[str, str]) -> str:
    return str(uuid5(NAMESPACE_OID, found.get("instanceId", "")))

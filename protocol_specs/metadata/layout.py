"""The tree of znodes of a cluster, and the two records that describe it: LAYOUT and INSTANCEID.

All names are relative to the cluster's root, ``/ledgers`` unless the metadata URI says otherwise.
"""

from construct import Bytes, Const, GreedyBytes, NullTerminated, Struct

# The tree ------------------------------------------------------------------------------------------------------------

AVAILABLE = "available"
"""Persistent; its ephemeral children are the writable bookies."""

READ_ONLY = "readonly"
"""Persistent child of AVAILABLE; its ephemeral children are the read-only bookies."""

COOKIES = "cookies"
"""Persistent, made with the first cookie; it has a child for every bookie that ever registered."""

UNDERREPLICATION = "underreplication"
"""Persistent, made by the first auditor: what Java's autorecovery has to do, and who does it."""

AUDITOR_ELECTION = "auditorelection"
"""Child of UNDERREPLICATION; of its ephemeral sequential children the lowest is the auditor's, ``bookieId: "…"``."""

REPLICATION_DISABLED = "disable"
"""Child of UNDERREPLICATION; there while re-replication is switched off."""

UNDERREPLICATED_LEDGERS = "ledgers"
"""Child of UNDERREPLICATION; four levels of hexadecimal digits below it is a child UNDERREPLICATED_PREFIX + id for each
ledger that lacks replicas."""

UNDERREPLICATED_PREFIX = "urL"

LAYOUT = "LAYOUT"
INSTANCE_ID = "INSTANCEID"
"""A UUID as text, without newline."""

ID_GENERATOR = "idgen"
"""Ephemeral sequential children named ID_PREFIX hand out the ids below ID_31_BIT_END; not in the layout ``flat``."""

LONG_ID_GENERATOR = "idgen-long"
"""Exists as soon as the 31-bit ids have run out, and is used from then on.  A child HIGH_BITS_PREFIX + ten digits holds
the upper half of the ids, an ephemeral sequential child of that the lower half."""

ID_PREFIX = "ID-"
HIGH_BITS_PREFIX = "HOB-"
ID_31_BIT_END = 2**31 - 1
"""The first id that is too large for the 31-bit generator and for the short form of paths."""

HIGH_BITS_KEPT = 3
"""How many of the newest HIGH_BITS_PREFIX nodes stay."""

UNDER_REPLICATION = "underreplication"
"""Made by Java's auto-recovery; what it has to copy is below."""

REPLICATION_LOCKS = "locks"
"""Child of UNDER_REPLICATION; an ephemeral child REPLICATION_LOCK_PREFIX + ten digits or more of the ledger id says
that somebody copies the ledger, or deletes a copy that nobody needs."""

REPLICATION_LOCK_PREFIX = "urL"

# LAYOUT --------------------------------------------------------------------------------------------------------------

LAYOUT_RECORD = Struct(
    "format_version" / Const(b"2\n"),
    "factory_class" / NullTerminated(GreedyBytes, term=b":"),
    "manager_version" / GreedyBytes,
)
"""No newline at the end.  Bookies do not start on another ``format_version``."""

_FACTORY_PACKAGE = b"org.apache.bookkeeper.meta."
FACTORY_CLASS_OF = {
    "hierarchical": _FACTORY_PACKAGE + b"HierarchicalLedgerManagerFactory",
    "flat": _FACTORY_PACKAGE + b"FlatLedgerManagerFactory",
    "longhierarchical": _FACTORY_PACKAGE + b"LongHierarchicalLedgerManagerFactory",
    "legacyhierarchical": _FACTORY_PACKAGE + b"LegacyHierarchicalLedgerManagerFactory",
}
"""By name in the metadata URI: the class in LAYOUT.  The class names are part of the format, in every language."""

MANAGER_VERSION = b"1"
"""The version of all these managers."""

# Paths of ledgers ----------------------------------------------------------------------------------------------------

SHORT_GROUPS = (2, 4, 4)
"""An id below ID_31_BIT_END is cut into groups of these many digits; each group is a level of the tree."""

LONG_GROUPS = (3, 4, 4, 4, 4)
"""The same for all other ids; in the layout ``longhierarchical`` for every id."""

FLAT_GROUPS = (10,)
"""The same in the layout ``flat``, where each ledger is a child of the root; larger ids have more digits.  The
sequential children ID_PREFIX, which hand out ids, are children of the root, too."""

SCOPED = "ID-128"
"""Persistent, made with the first ledger of a scope other than 0 (BP-34), gone with the last; ours.  In each of Java's
layouts a child of the root that starts with ID_PREFIX is no ledger.  Lists, garbage collection and auditor ignore it;
the commands that nuke a cluster and, since 4.10, those that format it, delete it.  LAYOUT stays Java's, which serves
scope 0 beside it."""

DOCUMENTS = "ID-spark-sinks"
"""Persistent, made with the first document below it: the documents that Spark sinks have published; ours.  The name
starts with ID_PREFIX so that Java ignores it, as it does SCOPED: Java takes other children of the root for ranges of
ledgers."""

NAMED_RECORDS = "ID-records"
"""Persistent while there is a record below it: small records that are changed by compare-and-set, such as the lists of
ledgers of replicated logs; ours.  Java ignores it, as it does DOCUMENTS."""

SCOPED_GROUPS = (4, 4, 4, 4, 4, 4, 4, 4)
"""Below SCOPED an id is cut into groups of these many hexadecimal digits: four levels of scope, four of ledger id.  No
level can get more than 2^16 children, whichever bits of the ids differ, so that the answer that lists them stays below
ZooKeeper's limit of 1 MiB."""

LEDGER_PREFIX = "L"
"""Stands before the last group."""

INSTANCE_ID_RECORD = Bytes(36)

"""The bytes of Apache BookKeeper: declarations only, no behaviour.

Every frame, entry, disk file and metadata node is declared here once, with ``construct`` or, where the format is
protobuf, in a ``.proto`` file that we wrote ourselves.  Codecs, documents, vectors and the conformance suite are made
from these declarations.
"""

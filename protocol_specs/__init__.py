"""What the bytes of Apache BookKeeper are: declarations only, no behaviour.

Every frame, entry, disk file and metadata node is declared here once, with ``construct`` or, where the format is
protobuf, in a ``.proto`` file of our own words.  Codecs, documents, vectors and the conformance suite come from these.
"""

"""The conformance suite: judges any bookie or client, in any language. It imports ``protocol_specs`` only."""

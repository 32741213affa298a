"""Our client as the conformance suite drives it: ``python -m bookkeeper_tx.testing.conformance_driver``."""

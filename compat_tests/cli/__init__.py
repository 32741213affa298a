"""The command ``bookkeeper-conformance``."""

"""Ledger metadata as bytes, in each of its three forms (docs/formats/ledger-metadata.md)."""

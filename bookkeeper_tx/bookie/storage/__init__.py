"""Ledger storage: write cache, entry logs and indexes, in the formats of Java (docs/formats/directories.md)."""

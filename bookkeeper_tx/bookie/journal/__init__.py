"""The journal: an entry is in it before it is acknowledged (docs/formats/journal.md)."""

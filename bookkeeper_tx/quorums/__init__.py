"""Which bookies of an ensemble hold an entry, and which bookies make up an ensemble (docs/protocol/quorums.md)."""

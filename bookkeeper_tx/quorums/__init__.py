"""Which bookies hold an entry, and which of them a ledger is placed on (docs/protocol/quorums.md)."""

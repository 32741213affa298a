"""Tables of a cluster: its ledgers, its bookies, and the ledgers without metadata that bookies store."""

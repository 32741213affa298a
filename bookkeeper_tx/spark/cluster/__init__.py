"""Tables of a cluster: its ledgers, its bookies, ledgers on bookies that no metadata names."""

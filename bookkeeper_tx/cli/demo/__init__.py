"""``bktx demo``: a file in a replicated ledger, a bookie killed, all of it read back."""

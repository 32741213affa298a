"""``bktx ledger``: ledgers from the shell."""

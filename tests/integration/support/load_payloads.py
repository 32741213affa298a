"""The payloads of the load test: each says which entry it is, and their sizes are unequal."""

SIZES = (20, 100, 100, 100, 1000, 100, 100, 20_000)


def payload(ledger_id: int, entry_id: int) -> bytes:
    """Return the payload of an entry."""
    head = b"%d/%d " % (ledger_id, entry_id)
    return head.ljust(SIZES[(ledger_id + entry_id) % len(SIZES)], b".")

"""The entries of ledgers in tests."""


def payloads(count: int) -> list[bytes]:
    """Return the first ``count`` entries of a ledger: no two are alike, and their sizes differ."""
    return [b"entry %d" % number + b"." * (number % 50) for number in range(count)]

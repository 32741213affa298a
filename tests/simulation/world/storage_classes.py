"""Which bookies of a seed have index files, and which have the databases of DbLedgerStorage."""

from random import Random

INDEX_FILES, DATABASES = "SortedLedgerStorage", "DbLedgerStorage"

BOOKIES_MAX = 6

EVERY, OFFSET = 8, 4
"""Of so many seeds one has databases; the others need not know."""


def draw(seed: int) -> list[str]:
    """Return the class of each bookie: databases at all of them in some seeds, at some of them in others."""
    if seed % EVERY != OFFSET:
        return [INDEX_FILES] * BOOKIES_MAX
    random = Random(f"storage classes of {seed}")  # its own: nothing else that a seed draws depends on this
    mixed = random.random() < 0.5
    return random.choices((INDEX_FILES, DATABASES) if mixed else (DATABASES,), k=BOOKIES_MAX)

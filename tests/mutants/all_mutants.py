"""All mutants, by name."""

from tests.mutants import (
    bookie_connections,
    bookie_fencing,
    bookie_replies,
    client_reads,
    client_writes,
    table_rows,
)
from tests.mutants.mutant import Mutant

MUTANTS: dict[str, Mutant] = {
    mutant.name: mutant
    for mutant in (
        *table_rows.mutants(),
        *bookie_fencing.DEFECTS.mutants,
        *bookie_replies.DEFECTS.mutants,
        *bookie_connections.DEFECTS.mutants,
        *client_reads.DEFECTS.mutants,
        *client_writes.DEFECTS.mutants,
    )
}

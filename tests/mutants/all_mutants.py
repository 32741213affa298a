"""All mutants, by name."""

from attrs import evolve

from tests.mutants import (
    bookie_batches,
    bookie_connections,
    bookie_fencing,
    bookie_replies,
    bookie_strangers,
    client_connections,
    client_reads,
    client_writes,
    table_rows,
)
from tests.mutants.first_cases import FIRST_CASES
from tests.mutants.mutant import Mutant

MUTANTS: dict[str, Mutant] = {
    mutant.name: evolve(mutant, areas=(*filter(None, [FIRST_CASES.get(mutant.name)]), *mutant.areas))
    for mutant in (
        *table_rows.mutants(),
        *bookie_fencing.DEFECTS.mutants,
        *bookie_replies.DEFECTS.mutants,
        *bookie_batches.DEFECTS.mutants,
        *bookie_connections.DEFECTS.mutants,
        *bookie_strangers.DEFECTS.mutants,
        *client_connections.DEFECTS.mutants,
        *client_reads.DEFECTS.mutants,
        *client_writes.DEFECTS.mutants,
    )
}

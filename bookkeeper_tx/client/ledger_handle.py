"""What every handle of a ledger has, a reader's and a writer's, on each face of the client."""

from protocol_specs.ledger_id import split


class LedgerHandle:
    """Names its ledger: ``ledger_id`` is the whole id, ``scope_id`` its upper half."""

    ledger_id: int

    @property
    def scope_id(self) -> int:
        """The upper half of the ledger's id (BP-34), signed; 0 for every ledger of Java's."""
        return split(self.ledger_id)[0]

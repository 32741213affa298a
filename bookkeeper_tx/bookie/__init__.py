"""The bookie: ``service`` makes and connects everything, ``operations`` serve, ``storage`` and ``journal`` keep."""

"""The cases of the bookie role, one file an area."""

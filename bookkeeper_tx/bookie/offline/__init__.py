"""The files of a bookie that does not run: looked at, checked, repaired."""

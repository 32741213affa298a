"""The cases of the client role, one file an area."""

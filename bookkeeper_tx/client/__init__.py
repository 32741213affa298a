"""The client on Twisted: handles, one file an operation, recovery, ensemble changes."""

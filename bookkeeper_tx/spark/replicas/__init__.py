"""The table of replicas: every copy of an entry read and compared."""

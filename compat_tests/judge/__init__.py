"""Cases, their runs, and the results."""

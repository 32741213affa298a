"""The operations of a bookie, one file each; ``dispatch`` leads a request to its own."""

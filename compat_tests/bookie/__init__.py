"""The bookie role: what its cases talk with; ``cases`` has them."""

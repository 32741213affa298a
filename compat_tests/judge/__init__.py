"""What a case is, how cases are run, and what comes of them."""

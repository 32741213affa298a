"""What a bookie answers to which request in which state, as tables for the reference and for tests."""

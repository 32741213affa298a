"""The answers of a bookie to each request in each state, as tables for the reference and for tests."""

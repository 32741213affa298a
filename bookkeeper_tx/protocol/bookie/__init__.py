"""The protocol as a bookie speaks it: bytes in, requests out, replies back to bytes."""

"""The protocol as a client speaks it: requests to bytes, bytes to completions."""

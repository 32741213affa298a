"""The HTTP API of a bookie: Java's, version 1, an endpoint a file (docs/guides/bookie-http.md)."""

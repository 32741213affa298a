"""Authentication plugins, SASL, the configuration of TLS, and Java's keys for all of these; no Twisted."""

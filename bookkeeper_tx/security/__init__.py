"""Who a peer is, and what is said in secret: authentication plugins, SASL, and Java's keys for both; no Twisted."""

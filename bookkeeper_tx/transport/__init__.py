"""What drives the protocol: Twisted connections and channels, blocking sockets."""

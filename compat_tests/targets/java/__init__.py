"""Java bookies and clients, whatever runs them, and the Java programs that drive the clients."""

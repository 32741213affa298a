"""Java bookies and clients as JVM processes, and the Java programs that drive the clients."""

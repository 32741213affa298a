"""The metadata stores without a reactor, for Spark executors and scripts."""

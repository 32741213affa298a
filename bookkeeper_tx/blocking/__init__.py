"""The client without a reactor: for Spark executors and scripts; loads no Twisted."""

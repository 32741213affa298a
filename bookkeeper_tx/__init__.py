"""bookkeeper_tx: Apache BookKeeper in Python on Twisted."""

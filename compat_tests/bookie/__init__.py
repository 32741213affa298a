"""The bookie role: its cases in ``cases``, and beside them the helpers that they share."""

"""A bookie that may have lost entries: it marks its ledgers before it serves, and copies what is missing"""

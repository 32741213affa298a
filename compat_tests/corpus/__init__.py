"""Inputs that no bookie may serve as if they were good, as data for any language, and what a bookie must do with each.

The JSON files beside this one are the corpus; ``README.md`` there says how to read them without Python.
"""

"""Inputs that no bookie may serve as valid, as data for any language, and the behaviour that each one requires.

The JSON files beside this one are the corpus; ``README.md`` there says how to read them without Python.
"""

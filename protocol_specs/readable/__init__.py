"""Bytes of BookKeeper traffic as people read them: frames, their fields with offsets, and the meanings of the values.

This is off the hot path: neither bookie nor client imports it.
"""

"""Bytes of BookKeeper traffic as people read them: frames, their fields with offsets, and what the values mean.

Off the hot path: nothing that serves or asks anything imports this room.
"""

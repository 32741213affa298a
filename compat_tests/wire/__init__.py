"""Frames out, replies in: what the suite says on the wire, over sockets that are recorded."""

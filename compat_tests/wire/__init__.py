"""Frames out, replies in: the suite's side of the wire, over sockets that are recorded."""

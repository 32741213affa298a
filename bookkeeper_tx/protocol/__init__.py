"""Both versions of the protocol, without IO: bytes and times in, bytes and events out."""

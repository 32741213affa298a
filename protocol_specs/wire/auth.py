"""Authentication: V2 and V3 carry an ``AuthMessage`` (``v3.proto``), V2 without a length, up to the frame's end."""

AUTH_DISABLED_PLUGIN = "AuthDisabledPlugin"
"""The plugin name in the reply of a side without authentication, and of one that has nothing left to authenticate.

It means "go on".  The payload is empty, whatever plugin and token the request had.
"""

SASL_PLUGIN = "sasl"
"""The plugin that comes with Java's bookies and clients: DIGEST-MD5, or Kerberos."""

SASL_NAME = "bookkeeper"
"""Service, host and realm in DIGEST-MD5: one word for all three, on every bookie, so that ``digest-uri`` is
``bookkeeper/bookkeeper``."""

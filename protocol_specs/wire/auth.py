"""Authentication: an ``AuthMessage`` (``v3.proto``) in both dialects, in V2 without a length, up to the frame's end."""

AUTH_DISABLED_PLUGIN = "AuthDisabledPlugin"
"""The plugin name in the reply of a side without authentication, and of one that has nothing left to authenticate.

It says "go on": the payload is empty, whatever the request named and carried.
"""

SASL_PLUGIN = "sasl"
"""The plugin that Java brings along: DIGEST-MD5, or Kerberos."""

SASL_NAME = "bookkeeper"
"""What DIGEST-MD5 calls service, host and realm: one word for all, on every bookie, so that ``digest-uri`` is
``bookkeeper/bookkeeper``."""

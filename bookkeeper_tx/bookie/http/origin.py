"""Which requests may come from a page in a browser, whose user knows nothing of them."""

import re
from ipaddress import ip_address
from typing import Final

from twisted.web.http_headers import Headers

_HOST: Final = re.compile(r"(\[(?P<v6>[^\]]*)\]|(?P<name>[^:]*))(:[0-9]*)?")


def is_loopback(host: str) -> bool:
    """Tell whether ``host`` is this machine, whatever machine that is."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def names_another_host(headers: Headers) -> bool:
    """Tell whether a request names a host that is not this machine.

    Any name can be made to resolve to 127.0.0.1, and then the pages of that name may ask, and read the answer.
    """
    return not all(_is_loopback_with_port(host) for host in headers.getRawHeaders("host", []))


def is_of_a_page(headers: Headers) -> bool:
    """Tell whether a page in a browser has sent a request; one without an ``Origin`` says so in ``Sec-Fetch-Site``."""
    return headers.hasHeader("origin") or any(site != "none" for site in headers.getRawHeaders("Sec-Fetch-Site", []))


def _is_loopback_with_port(text: str) -> bool:
    found = _HOST.fullmatch(text.strip())
    return found is not None and is_loopback(found["name"] or found["v6"] or "")

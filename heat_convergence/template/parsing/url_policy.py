"""Policy for the addresses that templates may be fetched from.

Decides about one address at a time.  The remote template fetcher calls it for every
address that a host name resolves to, and again after every redirect.  Must not
resolve names.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from heat_convergence.common.errors import HTTPBadRequest

ALLOWED_SCHEMES = ("http", "https")
# NAT64, and the deprecated IPv4-compatible addresses such as ::127.0.0.1.
_IPV4_IN_LOW_BITS = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))


def is_forbidden_ip(address: str) -> bool:
    """Return whether an IP address is local, private, multicast or not an address at all.

    IPv4 addresses embedded in IPv6 are judged as IPv4.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return True
    if isinstance(parsed, ipaddress.IPv6Address):
        embedded = parsed.ipv4_mapped or parsed.sixtofour or _low_32_bits(parsed)
        if embedded is not None:
            return is_forbidden_ip(str(embedded))
    return not parsed.is_global or parsed.is_multicast


def validate_url(url: str) -> str:
    """Return the host that the URL names.

    Raises:
        HTTPBadRequest: The URL is malformed, or its scheme is not allowed.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise HTTPBadRequest(f"Invalid URL {url}: {error}") from error
    if parts.scheme.lower() not in ALLOWED_SCHEMES or not host:
        raise HTTPBadRequest(
            f"Invalid URL {url}: its scheme must be one of {', '.join(ALLOWED_SCHEMES)}."
        )
    return host


def _low_32_bits(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if any(address in network for network in _IPV4_IN_LOW_BITS):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return None

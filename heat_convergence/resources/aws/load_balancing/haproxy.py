"""The configuration of HAProxy in a load balancer's server. Pure functions.

Decides how properties of ``AWS::ElasticLoadBalancing::LoadBalancer`` become HAProxy's words.

Source: docs.haproxy.org, "Configuration Manual".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = Any
_HEAD = """\
global
    daemon
    maxconn 256
    stats socket /tmp/.haproxy-stats

defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
"""


def build_configuration(properties: Mapping[str, Json], addresses: Sequence[str]) -> str:
    """Return the text of ``haproxy.cfg``.

    Args:
        properties: The properties of the load balancer.
        addresses: The addresses of its instances, in order.
    """
    listener = (properties.get("Listeners") or [{}])[0]
    check = properties.get("HealthCheck") or {}
    lines = [
        _HEAD,
        "frontend http",
        f"    bind *:{listener.get('LoadBalancerPort')}",
        "    default_backend servers",
        "",
        "backend servers",
        "    balance roundrobin",
        "    option http-server-close",
        "    option forwardfor",
        "    option httpchk",
    ]
    if check:
        lines.append(f"    timeout check {check['Timeout']}s")
    for number, address in enumerate(addresses, start=1):
        server = f"    server server{number} {address}:{listener.get('InstancePort')}"
        lines.append(server + _check(check))
    return "\n".join(lines) + "\n"


def _check(check: Mapping[str, Json]) -> str:
    """Return the words of a server's health check, none without one."""
    if not check:
        return ""
    return (
        f" check inter {check['Interval']}s"
        f" fall {check['UnhealthyThreshold']} rise {check['HealthyThreshold']}"
    )

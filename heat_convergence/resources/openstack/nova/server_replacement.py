"""What a server takes from the one that it replaces: ports and addresses.

The service attaches no port that another server has, and gives no address twice.
Decides what of a rival's is in the way, and lets that go; the caller comes again until
nothing is, for detaching takes its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from heat_convergence.common.errors import Conflict, ResourceGone
from heat_convergence.resources.driver.resource_client import RestResourceClient

Json = Any
RETRY_AFTER_S = 1.0


def release_predecessor_ports(
    servers: RestResourceClient,
    ports: RestResourceClient,
    predecessors: Sequence[str],
    networks: Sequence[Json],
) -> None:
    """``server_networks`` are the wanted ones.  Raises ``Conflict`` as long as a rival still has
    what they name."""
    wanted_ports = {str(one["port"]) for one in networks if one.get("port")}
    addresses = {str(one["fixed_ip"]) for one in networks if one.get("fixed_ip")}
    if not wanted_ports and not addresses:
        return
    busy = False
    for rival in predecessors:
        for port in ports.list(device_id=rival):
            if port["id"] in wanted_ports:
                _let_go(servers, rival, port, ports)
                busy = True
            elif addresses & _addresses(port):
                ports.delete(str(port["id"]))  # made for the rival, by us or the service
    if busy:
        raise Conflict(
            "the server that it replaces lets go of its ports", retry_after_s=RETRY_AFTER_S
        )


def _let_go(
    servers: RestResourceClient, rival: str, port: Mapping[str, Json], ports: RestResourceClient
) -> None:
    path = servers.path(rival, "os-interface", str(port["id"]))
    try:
        servers.send("DELETE", path)
    except ResourceGone:
        return
    except Conflict:
        # One in error detaches nothing: its ports are taken from it.
        with suppress(ResourceGone):
            ports.update(str(port["id"]), {"device_id": "", "device_owner": ""})


def _addresses(port: Mapping[str, Json]) -> set[str]:
    return {str(ip["ip_address"]) for ip in port.get("fixed_ips") or ()}

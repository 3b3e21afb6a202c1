"""Release of a replaced server's ports and addresses for the server that replaces it.

Nova attaches no port that another server has, and Neutron allocates no address twice.  Decides
what of a predecessor is needed and releases that.  The caller retries until nothing is left,
because detaching takes time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from heat_convergence.common.failures import Conflict, ResourceGone
from heat_convergence.resources.driver.resource_client import RestResourceClient

Json = Any
RETRY_AFTER_S = 1.0


def release_predecessor_ports(
    servers: RestResourceClient,
    ports: RestResourceClient,
    predecessors: Sequence[str],
    networks: Sequence[Json],
) -> None:
    """Release the ports and addresses that the new server needs.

    Args:
        servers: Calls about servers.
        ports: Calls about ports.
        predecessors: Ids of the servers to be replaced.
        networks: Networks of the new server, with ids of ports.

    Raises:
        Conflict: A predecessor still has one of the ports.
    """
    port_ids = {str(network["port"]) for network in networks if network.get("port")}
    addresses = {str(network["fixed_ip"]) for network in networks if network.get("fixed_ip")}
    if not port_ids and not addresses:
        return
    busy = False
    for predecessor in predecessors:
        for port in ports.list(device_id=predecessor):
            if port["id"] in port_ids:
                _detach(servers, predecessor, port, ports)
                busy = True
            elif addresses & _addresses(port):
                ports.delete(str(port["id"]))  # created for the predecessor, by us or by Nova
    if busy:
        raise Conflict("the replaced server is releasing its ports", retry_after_s=RETRY_AFTER_S)


def _detach(
    servers: RestResourceClient,
    predecessor: str,
    port: Mapping[str, Json],
    ports: RestResourceClient,
) -> None:
    path = servers.path(predecessor, "os-interface", str(port["id"]))
    try:
        servers.send("DELETE", path)
    except ResourceGone:
        return
    except Conflict:
        # A server in error cannot detach: its ports are taken from it.
        with suppress(ResourceGone):
            ports.update(str(port["id"]), {"device_id": "", "device_owner": ""})


def _addresses(port: Mapping[str, Json]) -> set[str]:
    return {str(ip["ip_address"]) for ip in port.get("fixed_ips") or ()}

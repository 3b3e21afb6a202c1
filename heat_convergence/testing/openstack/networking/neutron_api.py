"""Neutron's API: addresses, router interfaces, security group rules, subports."""

from __future__ import annotations

import ipaddress
from typing import Any

from heat_convergence.testing.openstack import project_limits
from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    PROJECT_ID,
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
    new_id,
)

Json = Any


def install(emulation: Emulation) -> None:
    """Install Neutron's handlers, the public network and the default security group."""
    public = emulation.add(
        "neutron.network", name="public", status="ACTIVE", subnets=[], **{"router:external": True}
    )
    emulation.add(
        "neutron.subnet",
        name="public-subnet",
        cidr="172.24.4.0/22",
        network_id=public["id"],
        gateway_ip="172.24.4.1",
        allocated=1,
    )
    emulation.add(
        "neutron.security_group", name="default", project_id=PROJECT_ID, security_group_rules=[]
    )
    for entity, hook in (
        ("network", _network),
        ("subnet", _subnet),
        ("port", _port),
        ("router", _router),
        ("security_group", _security_group),
        ("floatingip", _floating_ip),
        ("trunk", _trunk),
    ):
        emulation.on_create(f"neutron.{entity}", hook)
    handlers = (
        ("PUT", "/ports/{id}", _update_port),
        ("PUT", "/routers/{id}", _update_router),
        ("PUT", "/routers/{id}/add_router_interface", _add_interface),
        ("PUT", "/routers/{id}/remove_router_interface", _remove_interface),
        ("PUT", "/routers/{id}/add_extraroutes", _add_routes),
        ("PUT", "/routers/{id}/remove_extraroutes", _remove_routes),
        ("POST", "/security-group-rules", _add_rules),
        ("DELETE", "/security-group-rules/{id}", _delete_rule),
        ("PUT", "/trunks/{id}/add_subports", _add_sub_ports),
        ("PUT", "/trunks/{id}/remove_subports", _remove_sub_ports),
        ("PUT", "/quotas/{id}", _set_quota),
        ("GET", "/quotas/{id}/details", project_limits.show_network_limits),
        ("DELETE", "/quotas/{id}", _delete_quota),
        ("DELETE", "/networks/{id}", _delete_network),
        ("DELETE", "/subnets/{id}", _delete_subnet),
    )
    emulation.add_handlers("network", handlers)


def _network(emulation: Emulation, item: EmulatedResource) -> None:
    item.body.setdefault("subnets", [])
    item.body.setdefault("router:external", False)


def _subnet(emulation: Emulation, item: EmulatedResource) -> None:
    body = item.body
    body["allocated"] = 1
    network = ipaddress.ip_network(body.get("cidr") or "10.0.0.0/24")
    body.setdefault("gateway_ip", str(network[1]))
    emulation.get_existing("neutron.network", body["network_id"]).body["subnets"].append(
        body["id"]
    )


def _port(emulation: Emulation, item: EmulatedResource) -> None:
    body = item.body
    emulation.get_existing("neutron.network", body["network_id"])
    body["status"] = "DOWN"
    body.setdefault("name", "")
    body.setdefault("description", "")
    default = emulation.collection("neutron.security_group").list_page({"name": ["default"]})[0]
    body.setdefault("security_groups", [group["id"] for group in default])
    body.setdefault("mac_address", "fa:16:3e:00:00:01")
    if body.get("fixed_ips") is None:
        body["fixed_ips"] = allocate_addresses(emulation, body["network_id"])
    for ip in body["fixed_ips"]:
        if "subnet_id" not in ip:
            ip["subnet_id"] = _find_subnet_id(emulation, body["network_id"], ip["ip_address"])
        elif "ip_address" not in ip:
            subnet = emulation.get_existing("neutron.subnet", ip["subnet_id"]).body
            ip.update(_next_address(subnet))
    try:
        _reject_allocated_addresses(emulation, body)
    except EmulatedError:
        emulation.collection("neutron.port").remove(body["id"])
        raise


def allocate_addresses(emulation: Emulation, network_id: str) -> list[dict[str, Json]]:
    """Return the fixed IPs of a port that does not request any."""
    subnets, _ = emulation.collection("neutron.subnet").list_page({"network_id": [network_id]})
    return [_next_address(subnet) for subnet in subnets[:1]]


def _reject_allocated_addresses(emulation: Emulation, port: dict[str, Json]) -> None:
    """Raise if another port of the subnet has one of the addresses."""
    addresses = {(ip["subnet_id"], ip["ip_address"]) for ip in port["fixed_ips"]}
    for other in emulation.collection("neutron.port").bodies():
        other_addresses = {
            (ip.get("subnet_id"), ip.get("ip_address")) for ip in other["fixed_ips"]
        }
        if other["id"] != port["id"] and addresses & other_addresses:
            raise EmulatedError(409, "IP address already allocated", "IpAddressAlreadyAllocated")


def _update_port(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.port", request.path_parameters["id"]).body
    changed = {**body, **request.body["port"]}
    _reject_allocated_addresses(emulation, changed)
    body.update(changed)
    return EmulatedResponse(200, {"port": body})


def _find_subnet_id(emulation: Emulation, network_id: str, address: str) -> str:
    subnets, _ = emulation.collection("neutron.subnet").list_page({"network_id": [network_id]})
    for subnet in subnets:
        if ipaddress.ip_address(address) in ipaddress.ip_network(subnet["cidr"]):
            return str(subnet["id"])
    raise EmulatedError(400, f"IP address {address} is not a valid IP for any of the subnets")


def _next_address(subnet: dict[str, Json]) -> dict[str, Json]:
    subnet["allocated"] += 1
    address = ipaddress.ip_network(subnet["cidr"])[subnet["allocated"]]
    return {"subnet_id": subnet["id"], "ip_address": str(address)}


def _router(emulation: Emulation, item: EmulatedResource) -> None:
    item.body.setdefault("routes", [])
    item.body.setdefault("external_gateway_info", None)


def _security_group(emulation: Emulation, item: EmulatedResource) -> None:
    item.body["security_group_rules"] = [
        {"id": new_id(), "direction": "egress", "ethertype": ethertype}
        for ethertype in ("IPv4", "IPv6")
    ]


def _floating_ip(emulation: Emulation, item: EmulatedResource) -> None:
    item.body["status"] = "DOWN"
    number = len(emulation.collection("neutron.floatingip"))
    item.body.setdefault("floating_ip_address", f"172.24.5.{number}")
    port_id = item.body.setdefault("port_id", None)
    item.body.setdefault("fixed_ip_address", first_fixed_address(emulation, port_id))


def first_fixed_address(emulation: Emulation, port_id: str | None) -> str | None:
    """Return the fixed address that a floating IP of the port leads to, unless one is chosen."""
    if not port_id:
        return None
    fixed_ips = emulation.get_existing("neutron.port", port_id).body["fixed_ips"]
    return str(fixed_ips[0]["ip_address"]) if fixed_ips else None


def _trunk(emulation: Emulation, item: EmulatedResource) -> None:
    item.body.setdefault("sub_ports", [])


def _update_router(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.router", request.path_parameters["id"]).body
    body.update(request.body["router"])
    body["external_gateway_info"] = body["external_gateway_info"] or None
    return EmulatedResponse(200, {"router": body})


def _add_interface(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    router_id = request.path_parameters["id"]
    emulation.get_existing("neutron.router", router_id)
    if "port_id" in request.body:
        port = emulation.get_existing("neutron.port", request.body["port_id"]).body
    else:
        subnet = emulation.get_existing("neutron.subnet", request.body["subnet_id"]).body
        existing, _ = emulation.collection("neutron.port").list_page(
            {"device_id": [router_id], "fixed_ips": [f"subnet_id={subnet['id']}"]}
        )
        if existing:
            raise EmulatedError(400, "Router already has a port on subnet")
        ips = [{"subnet_id": subnet["id"], "ip_address": subnet["gateway_ip"]}]
        port = emulation.add(
            "neutron.port",
            name="",
            description="",
            network_id=subnet["network_id"],
            fixed_ips=ips,
            status="ACTIVE",
        )
    port.update(device_id=router_id, device_owner="network:router_interface")
    return EmulatedResponse(200, {"port_id": port["id"]})


def _remove_interface(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    router_id, collection = request.path_parameters["id"], emulation.collection("neutron.port")
    emulation.get_existing("neutron.router", router_id)
    for port in collection.bodies():
        subnets = [ip["subnet_id"] for ip in port["fixed_ips"]]
        matches = request.body.get("port_id") == port["id"] or (
            request.body.get("subnet_id") in subnets
        )
        if matches and port.get("device_id") == router_id:
            collection.remove(port["id"])
            return EmulatedResponse(200, {"port_id": port["id"]})
    raise EmulatedError(404, "Router has no interface there")


def _add_routes(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.router", request.path_parameters["id"]).body
    routes = request.body["router"]["routes"]
    body["routes"] += [route for route in routes if route not in body["routes"]]
    return EmulatedResponse(200, {"router": body})


def _remove_routes(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.router", request.path_parameters["id"]).body
    removed = request.body["router"]["routes"]
    body["routes"] = [route for route in body["routes"] if route not in removed]
    return EmulatedResponse(200, {"router": body})


def _add_rules(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    single = request.body.get("security_group_rule")
    rules = request.body.get("security_group_rules") or [single]
    for rule in rules:
        group = emulation.get_existing("neutron.security_group", rule["security_group_id"]).body
        created = emulation.add("neutron.security_group_rule", **rule)
        group["security_group_rules"].append(created)
        rule.update(created)
    if single is not None:
        return EmulatedResponse(201, {"security_group_rule": single})
    return EmulatedResponse(201, {"security_group_rules": rules})


def _delete_rule(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    rule_id, found = request.path_parameters["id"], False
    for group in emulation.collection("neutron.security_group").bodies():
        kept = [rule for rule in group["security_group_rules"] if rule["id"] != rule_id]
        found = found or len(kept) < len(group["security_group_rules"])
        group["security_group_rules"] = kept
    emulation.collection("neutron.security_group_rule").remove(rule_id)
    if not found:
        raise EmulatedError(404, f"Security group rule {rule_id} does not exist")
    return EmulatedResponse(204)


def _add_sub_ports(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.trunk", request.path_parameters["id"]).body
    body["sub_ports"] += request.body["sub_ports"]
    return EmulatedResponse(200, body)


def _remove_sub_ports(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.trunk", request.path_parameters["id"]).body
    removed = {port["port_id"] for port in request.body["sub_ports"]}
    body["sub_ports"] = [port for port in body["sub_ports"] if port["port_id"] not in removed]
    return EmulatedResponse(200, body)


def _set_quota(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    collection, project_id = emulation.collection("neutron.quota"), request.path_parameters["id"]
    item = collection.get(project_id) or collection.add({"id": project_id})
    item.body.update(request.body["quota"])
    return EmulatedResponse(200, {"quota": item.body})


def _delete_quota(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    emulation.collection("neutron.quota").remove(request.path_parameters["id"])
    return EmulatedResponse(204)


def _delete_network(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    network_id = request.path_parameters["id"]
    emulation.get_existing("neutron.network", network_id)
    if emulation.collection("neutron.port").list_page({"network_id": [network_id]})[0]:
        raise EmulatedError(409, f"Network {network_id} has ports in use", "NetworkInUse")
    for subnet in emulation.collection("neutron.subnet").list_page({"network_id": [network_id]})[
        0
    ]:
        emulation.collection("neutron.subnet").remove(subnet["id"])
    emulation.collection("neutron.network").remove(network_id)
    return EmulatedResponse(204)


def _delete_subnet(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    subnet_id = request.path_parameters["id"]
    subnet = emulation.get_existing("neutron.subnet", subnet_id).body
    used = emulation.collection("neutron.port").list_page(
        {"fixed_ips": [f"subnet_id={subnet_id}"]}
    )[0]
    if used:
        raise EmulatedError(409, f"Subnet {subnet_id} has ports in use", "SubnetInUse")
    network = emulation.collection("neutron.network").get(subnet["network_id"])
    if network is not None:
        network.body["subnets"].remove(subnet_id)
    emulation.collection("neutron.subnet").remove(subnet_id)
    return EmulatedResponse(204)

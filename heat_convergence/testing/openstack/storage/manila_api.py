"""Manila's API: shares, share networks with their security services, and share types."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
    new_id,
)

Json = Any
AVAILABLE_AFTER_S = 1.5
_RULES = "access_rules"  # of a share, which Manila shows by an action
_USER = ("access_type", "access_to")  # of a rule, of which a share has one
_DENIED_S = "denied_s"  # of a rule, when it has been removed
DENIAL_S = 1.0
_NEVER_S = 1e9
_ATTACHED = "security_service_ids"  # of a share network, which Manila does not show


def install(emulation: Emulation) -> None:
    """Install Manila's handlers."""
    emulation.on_create("manila.share_network", _create_share_network)
    emulation.on_create("manila.share_type", _create_share_type)
    emulation.on_create("manila.share", _create_share)
    handlers = (
        ("POST", "/shares/{id}/action", _change_access),
        ("PUT", "/shares/{id}", _update_share),
        ("PUT", "/shares/{id}/metadata", _set_metadata),
        ("DELETE", "/shares/{id}", _delete_share),
        ("GET", "/shares/{id}/export_locations", _list_export_locations),
        ("POST", "/share-networks/{id}/action", _change_security_services),
        ("GET", "/security-services/detail", _list_security_services),
        ("POST", "/types/{id}/extra_specs", _set_extra_specs),
        ("DELETE", "/types/{id}/extra_specs/{key}", _delete_extra_spec),
    )
    emulation.add_handlers("shared_file_system", handlers)


def _create_share(emulation: Emulation, item: EmulatedResource) -> None:
    item.body.update({"status": "creating", "host": "share-1", _RULES: {}})
    item.scheduled_changes = [(emulation.now_s + AVAILABLE_AFTER_S, {"status": "available"})]


def _share(emulation: Emulation, request: EmulatedRequest) -> EmulatedResource:
    return emulation.get_existing("manila.share", request.path_parameters["id"])


def _change_access(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    share, now_s = _share(emulation, request).body, emulation.now_s
    rules = {key: each for key, each in share[_RULES].items() if each[_DENIED_S] > now_s}
    share[_RULES] = rules
    ((action, arguments),) = request.body.items()
    if action == "access_list":
        return EmulatedResponse(200, {"access_list": list(rules.values())})
    if share["status"] != "available":
        raise EmulatedError(400, "New access rules cannot be applied while the share is busy.")
    if action == "deny_access":
        if arguments["access_id"] not in rules:
            raise EmulatedError(404, "no such access rule")
        denied = rules[arguments["access_id"]]
        denied[_DENIED_S] = min(denied[_DENIED_S], now_s + DENIAL_S)
        return EmulatedResponse(202)
    if any(all(each[key] == arguments[key] for key in _USER) for each in rules.values()):
        raise EmulatedError(400, f"Share access {arguments['access_to']} exists.")
    rule = {"id": new_id(), "state": "active", _DENIED_S: _NEVER_S, **arguments}
    rules[rule["id"]] = rule
    return EmulatedResponse(200, {"access": rule})


def _update_share(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    share = _share(emulation, request).body
    for name, value in request.body["share"].items():
        share[name.removeprefix("display_")] = value
    return EmulatedResponse(200, {"share": share})


def _set_metadata(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    _share(emulation, request).body["metadata"] = dict(request.body["metadata"])
    return EmulatedResponse(200, request.body)


def _delete_share(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = _share(emulation, request)
    item.body["status"] = "deleting"
    item.scheduled_changes = [(emulation.now_s + AVAILABLE_AFTER_S, None)]
    return EmulatedResponse(202)


def _list_export_locations(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    path = f"192.0.2.5:/shares/{_share(emulation, request).body['id']}"
    return EmulatedResponse(200, {"export_locations": [{"path": path, "preferred": True}]})


def _create_share_network(emulation: Emulation, item: EmulatedResource) -> None:
    if bool(item.body.get("neutron_net_id")) is not bool(item.body.get("neutron_subnet_id")):
        raise EmulatedError(400, "neutron_net_id and neutron_subnet_id go together.")
    item.body.update(segmentation_id=None, cidr=None, ip_version=4, network_type="vlan")
    item.body[_ATTACHED] = []


def _create_share_type(emulation: Emulation, item: EmulatedResource) -> None:
    if "driver_handles_share_servers" not in item.body.get("extra_specs", {}):
        raise EmulatedError(400, "Required extra spec: driver_handles_share_servers")


def _change_security_services(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    network = emulation.get_existing("manila.share_network", request.path_parameters["id"]).body
    ((action, arguments),) = request.body.items()
    service_id = arguments["security_service_id"]
    emulation.get_existing("manila.security_service", service_id)
    attached = network[_ATTACHED]
    if (action == "add_security_service") is (service_id in attached):
        raise EmulatedError(409, f"{action}: {service_id} is already so")
    if action == "add_security_service":
        attached.append(service_id)
    else:
        attached.remove(service_id)
    return EmulatedResponse(200, {"share_network": network})


def _list_security_services(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    query = dict(request.query)
    network_ids = query.pop("share_network_id", None)
    bodies, _more = emulation.collection("manila.security_service").list_page(query)
    if network_ids:
        attached = emulation.get_existing("manila.share_network", network_ids[0]).body[_ATTACHED]
        bodies = [body for body in bodies if body["id"] in attached]
    return EmulatedResponse(200, {"security_services": bodies})


def _set_extra_specs(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    share_type = emulation.get_existing("manila.share_type", request.path_parameters["id"]).body
    share_type["extra_specs"] = {**share_type["extra_specs"], **request.body["extra_specs"]}
    return EmulatedResponse(200, request.body)


def _delete_extra_spec(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    share_type = emulation.get_existing("manila.share_type", request.path_parameters["id"]).body
    if share_type["extra_specs"].pop(request.path_parameters["key"], None) is None:
        raise EmulatedError(404, "no such extra spec")
    return EmulatedResponse(202)

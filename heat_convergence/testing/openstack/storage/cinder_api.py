"""Cinder's API: volumes and backups that take time, volume types and QoS specs."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack import project_limits
from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
    new_id,
)

Json = Any
CREATE_TIME_S = 2.0
EXTEND_TIME_S = 1.0


def install(emulation: Emulation) -> None:
    """Install Cinder's handlers."""
    emulation.latency_s["cinder.volume delete"] = 1.0
    emulation.on_create("cinder.volume", _volume)
    emulation.on_create("cinder.backup", _backup)
    handlers = (
        ("POST", "/volumes/{id}/action", _run_action),
        ("PUT", "/volumes/{id}/metadata", _set_metadata),
        ("PUT", "/types/{id}", _update_volume_type),
        ("POST", "/types/{id}/extra_specs", _accept),
        ("DELETE", "/types/{id}/extra_specs/{key}", _accept),
        ("GET", "/types/{id}/os-volume-type-access", _list_access),
        ("POST", "/types/{id}/action", _change_access),
        ("GET", "/types/{id}/encryption", _get_encryption),
        ("POST", "/types/{id}/encryption", _set_encryption),
        ("PUT", "/types/{id}/encryption/{own}", _set_encryption),
        ("DELETE", "/types/{id}/encryption/{own}", _delete_encryption),
        ("POST", "/qos-specs", _create_specs),
        ("PUT", "/qos-specs/{id}", _set_specs),
        ("PUT", "/qos-specs/{id}/delete_keys", _delete_specs),
        ("GET", "/qos-specs/{id}/associations", _list_associations),
        ("GET", "/qos-specs/{id}/associate", _associate_specs),
        ("GET", "/qos-specs/{id}/disassociate", _disassociate_specs),
        ("GET", "/qos-specs/{id}/disassociate_all", _disassociate_specs),
        ("PUT", "/os-quota-sets/{id}", _set_quota),
        ("GET", "/limits", project_limits.show_volume_limits),
        ("DELETE", "/os-quota-sets/{id}", _accept),
        ("POST", "/backups/{id}/restore", _restore),
    )
    emulation.add_handlers("block_storage", handlers)


def _volume(emulation: Emulation, item: EmulatedResource) -> None:
    body = item.body
    body.update(status="creating", attachments=[])
    if "backup_id" in body:
        backup = emulation.get_existing("cinder.backup", body["backup_id"]).body
        body["restored"] = backup["id"]
    body["bootable"] = "true" if body.get("imageRef") else "false"
    item.scheduled_changes = [(emulation.now_s + CREATE_TIME_S, {"status": "available"})]


def _backup(emulation: Emulation, item: EmulatedResource) -> None:
    body = item.body
    volume = emulation.get_existing("cinder.volume", body["volume_id"]).body
    body.update(status="creating", size=volume["size"])
    item.scheduled_changes = [(emulation.now_s + CREATE_TIME_S, {"status": "available"})]


def _restore(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    backup = emulation.get_existing("cinder.backup", request.path_parameters["id"]).body
    item = emulation.get_existing("cinder.volume", request.body["restore"]["volume_id"])
    if item.body["status"] != "available":
        raise EmulatedError(400, "Invalid volume: Volume to be restored to must be available")
    item.body.update(status="restoring-backup", restored=backup["id"])
    item.scheduled_changes = [(emulation.now_s + CREATE_TIME_S, {"status": "available"})]
    return EmulatedResponse(202, {"restore": request.body["restore"]})


def _run_action(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("cinder.volume", request.path_parameters["id"])
    ((name, arguments),) = request.body.items()
    if name == "os-extend":
        if item.body["status"] not in ("available", "in-use"):
            raise EmulatedError(400, "Invalid volume: status must be available")
        before = item.body["status"]
        item.body["status"] = "extending"
        changes = {"status": before, "size": arguments["new_size"]}
        item.scheduled_changes = [(emulation.now_s + EXTEND_TIME_S, changes)]
    return EmulatedResponse(202)


def _set_metadata(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    emulation.get_existing("cinder.volume", request.path_parameters["id"]).body.update(
        request.body
    )
    return EmulatedResponse(200, request.body)


def _update_volume_type(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    """Update a volume type, whose fields have plain names here, unlike in a create."""
    body, update = (
        emulation.get_existing("cinder.vtype", request.path_parameters["id"]).body,
        request.body,
    )
    changes = dict(update["volume_type"])
    unknown = changes.keys() - {"name", "description", "is_public"}
    if unknown:
        raise EmulatedError(400, f"Additional properties are not allowed: {sorted(unknown)}")
    public = changes.get("is_public", body.get("os-volume-type-access:is_public", True))
    body.update(changes, **{"os-volume-type-access:is_public": public})
    return EmulatedResponse(200, {"volume_type": body})


def _list_access(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.vtype", request.path_parameters["id"]).body
    access = [{"project_id": project} for project in body.get("projects", ())]
    return EmulatedResponse(200, {"volume_type_access": access})


def _change_access(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.vtype", request.path_parameters["id"]).body
    ((name, arguments),) = request.body.items()
    projects, changed = set(body.get("projects", ())), {arguments["project"]}
    body["projects"] = sorted(
        projects | changed if name == "addProjectAccess" else projects - changed
    )
    return EmulatedResponse(202)


def _get_encryption(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.vtype", request.path_parameters["id"]).body
    return EmulatedResponse(200, body.get("encryption") or {})


def _set_encryption(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.vtype", request.path_parameters["id"]).body
    known = body.get("encryption") or {"encryption_id": new_id()}
    body["encryption"] = {**known, **request.body["encryption"]}
    return EmulatedResponse(200, {"encryption": body["encryption"]})


def _delete_encryption(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    emulation.get_existing("cinder.vtype", request.path_parameters["id"]).body["encryption"] = None
    return EmulatedResponse(202)


def _create_specs(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    specs = dict(request.body["qos_specs"])
    name = specs.pop("name")
    if any(
        existing["name"] == name for existing in emulation.collection("cinder.qos_specs").bodies()
    ):
        raise EmulatedError(409, f"QoS specs {name} already exist.")
    body = emulation.add("cinder.qos_specs", name=name, consumer="back-end", specs=specs)
    return EmulatedResponse(200, {"qos_specs": body})


def _set_specs(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", request.path_parameters["id"]).body
    body["specs"] = {**body.get("specs", {}), **request.body["qos_specs"]}
    return EmulatedResponse(200, request.body)


def _delete_specs(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", request.path_parameters["id"]).body
    missing = [key for key in request.body["keys"] if key not in body.get("specs", {})]
    if missing:
        raise EmulatedError(400, f"QoS specs have no {missing[0]}")
    body["specs"] = {k: v for k, v in body["specs"].items() if k not in request.body["keys"]}
    return EmulatedResponse(202)


def _list_associations(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", request.path_parameters["id"]).body
    return EmulatedResponse(
        200,
        {
            "qos_associations": [
                {"id": volume_type_id} for volume_type_id in body.get("volume_type_ids", ())
            ]
        },
    )


def _associate_specs(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", request.path_parameters["id"]).body
    body["volume_type_ids"] = sorted(
        {*body.get("volume_type_ids", ()), *request.query["vol_type_id"]}
    )
    return EmulatedResponse(202)


def _disassociate_specs(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", request.path_parameters["id"]).body
    removed = set(request.query.get("vol_type_id", body.get("volume_type_ids", ())))
    body["volume_type_ids"] = [
        volume_type_id
        for volume_type_id in body.get("volume_type_ids", ())
        if volume_type_id not in removed
    ]
    return EmulatedResponse(202)


def _set_quota(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    collection, project_id = emulation.collection("cinder.quota"), request.path_parameters["id"]
    item = collection.get(project_id) or collection.add({"id": project_id})
    item.body.update(request.body["quota_set"])
    return EmulatedResponse(200, {"quota_set": item.body})


def _accept(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(200, {})

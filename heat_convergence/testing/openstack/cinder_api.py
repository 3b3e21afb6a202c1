"""Cinder: volumes that take their time, types and what hangs on them, backups."""

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
CREATE_TIME_S = 2.0
EXTEND_TIME_S = 1.0


def install(emulation: Emulation) -> None:
    emulation.latency_s["cinder.volume delete"] = 1.0
    emulation.on_create("cinder.volume", _volume)
    emulation.on_create("cinder.backup", _backup)
    rules = (
        ("POST", "/volumes/{id}/action", _act),
        ("PUT", "/volumes/{id}/metadata", _set_metadata),
        ("PUT", "/types/{id}", _change_type),
        ("POST", "/types/{id}/extra_specs", _done),
        ("DELETE", "/types/{id}/extra_specs/{key}", _done),
        ("GET", "/types/{id}/os-volume-type-access", _access),
        ("POST", "/types/{id}/action", _change_access),
        ("GET", "/types/{id}/encryption", _encryption),
        ("POST", "/types/{id}/encryption", _encrypt),
        ("PUT", "/types/{id}/encryption/{own}", _encrypt),
        ("DELETE", "/types/{id}/encryption/{own}", _decrypt),
        ("POST", "/qos-specs", _create_specs),
        ("PUT", "/qos-specs/{id}", _set_specs),
        ("PUT", "/qos-specs/{id}/delete_keys", _delete_specs),
        ("GET", "/qos-specs/{id}/associations", _associations),
        ("GET", "/qos-specs/{id}/associate", _associate),
        ("GET", "/qos-specs/{id}/disassociate", _disassociate),
        ("GET", "/qos-specs/{id}/disassociate_all", _disassociate),
        ("PUT", "/os-quota-sets/{id}", _set_quota),
        ("DELETE", "/os-quota-sets/{id}", _done),
        ("POST", "/backups/{id}/restore", _restore),
    )
    for method, path, rule in rules:
        emulation.add_handler("block_storage", method, path, rule)


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


def _restore(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    backup = emulation.get_existing("cinder.backup", asked.path_parameters["id"]).body
    item = emulation.get_existing("cinder.volume", asked.body["restore"]["volume_id"])
    if item.body["status"] != "available":
        raise EmulatedError(400, "Invalid volume: Volume to be restored to must be available")
    item.body.update(status="restoring-backup", restored=backup["id"])
    item.scheduled_changes = [(emulation.now_s + CREATE_TIME_S, {"status": "available"})]
    return EmulatedResponse(202, {"restore": asked.body["restore"]})


def _act(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("cinder.volume", asked.path_parameters["id"])
    ((name, given),) = asked.body.items()
    if name == "os-extend":
        if item.body["status"] not in ("available", "in-use"):
            raise EmulatedError(400, "Invalid volume: status must be available")
        before = item.body["status"]
        item.body["status"] = "extending"
        changes = {"status": before, "size": given["new_size"]}
        item.scheduled_changes = [(emulation.now_s + EXTEND_TIME_S, changes)]
    return EmulatedResponse(202)


def _set_metadata(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    emulation.get_existing("cinder.volume", asked.path_parameters["id"]).body.update(asked.body)
    return EmulatedResponse(200, asked.body)


def _change_type(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    """What a create calls by its extension has a plain name here."""
    body, given = (
        emulation.get_existing("cinder.vtype", asked.path_parameters["id"]).body,
        asked.body,
    )
    changes = dict(given["volume_type"])
    unknown = changes.keys() - {"name", "description", "is_public"}
    if unknown:
        raise EmulatedError(400, f"Additional properties are not allowed: {sorted(unknown)}")
    public = changes.get("is_public", body.get("os-volume-type-access:is_public", True))
    body.update(changes, **{"os-volume-type-access:is_public": public})
    return EmulatedResponse(200, {"volume_type": body})


def _access(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.vtype", asked.path_parameters["id"]).body
    found = [{"project_id": project} for project in body.get("projects", ())]
    return EmulatedResponse(200, {"volume_type_access": found})


def _change_access(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.vtype", asked.path_parameters["id"]).body
    ((name, given),) = asked.body.items()
    there, one = set(body.get("projects", ())), {given["project"]}
    body["projects"] = sorted(there | one if name == "addProjectAccess" else there - one)
    return EmulatedResponse(202)


def _encryption(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.vtype", asked.path_parameters["id"]).body
    return EmulatedResponse(200, body.get("encryption") or {})


def _encrypt(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.vtype", asked.path_parameters["id"]).body
    known = body.get("encryption") or {"encryption_id": new_id()}
    body["encryption"] = {**known, **asked.body["encryption"]}
    return EmulatedResponse(200, {"encryption": body["encryption"]})


def _decrypt(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    emulation.get_existing("cinder.vtype", asked.path_parameters["id"]).body["encryption"] = None
    return EmulatedResponse(202)


def _create_specs(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    given = dict(asked.body["qos_specs"])
    name = given.pop("name")
    if any(one["name"] == name for one in emulation.collection("cinder.qos_specs").bodies()):
        raise EmulatedError(409, f"QoS specs {name} already exist.")
    body = emulation.add("cinder.qos_specs", name=name, consumer="back-end", specs=given)
    return EmulatedResponse(200, {"qos_specs": body})


def _set_specs(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", asked.path_parameters["id"]).body
    body["specs"] = {**body.get("specs", {}), **asked.body["qos_specs"]}
    return EmulatedResponse(200, asked.body)


def _delete_specs(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", asked.path_parameters["id"]).body
    missing = [key for key in asked.body["keys"] if key not in body.get("specs", {})]
    if missing:
        raise EmulatedError(400, f"QoS specs have no {missing[0]}")
    body["specs"] = {k: v for k, v in body["specs"].items() if k not in asked.body["keys"]}
    return EmulatedResponse(202)


def _associations(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", asked.path_parameters["id"]).body
    return EmulatedResponse(
        200, {"qos_associations": [{"id": kind} for kind in body.get("kinds", ())]}
    )


def _associate(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", asked.path_parameters["id"]).body
    body["kinds"] = sorted({*body.get("kinds", ()), *asked.query["vol_type_id"]})
    return EmulatedResponse(202)


def _disassociate(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("cinder.qos_specs", asked.path_parameters["id"]).body
    leaving = set(asked.query.get("vol_type_id", body.get("kinds", ())))
    body["kinds"] = [kind for kind in body.get("kinds", ()) if kind not in leaving]
    return EmulatedResponse(202)


def _set_quota(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    collection, project_id = emulation.collection("cinder.quota"), asked.path_parameters["id"]
    item = collection.get(project_id) or collection.add({"id": project_id})
    item.body.update(asked.body["quota_set"])
    return EmulatedResponse(200, {"quota_set": item.body})


def _done(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(200, {})

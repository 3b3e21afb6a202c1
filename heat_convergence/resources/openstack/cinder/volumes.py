"""``OS::Cinder::Volume``: extended, retyped, restored, backed up.

Decides which of the service's operations takes a volume to its properties.  Each makes
the volume busy, and the service does one at a time: where more are needed the verb
raises ``Conflict`` and does the next one when it is called again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import (
    Conflict,
    NotSupported,
    ResourceGone,
    StackValidationFailed,
)
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.ownership_marks import ownership_mark
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import OWNER_METADATA_KEY
from heat_convergence.resources.driver.type_spec import PhysicalResource
from heat_convergence.resources.openstack.scheduler_hints import build_scheduler_hints
from heat_convergence.resources.openstack.snapshot_lookup import (
    delete_service_snapshots,
    find_service_snapshot,
)
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any
BACKUP_ID = "backup_id"
EXTEND_ATTACHED_MICROVERSION = "3.42"
CREATE_FROM_BACKUP_MICROVERSION = "3.47"  # from which on a volume is made of a backup by one call
SOURCE_PROPERTIES = ("image", "source_volid", "snapshot_id", BACKUP_ID)
_HINTS = "OS-SCH-HNT:scheduler_hints"
_FREE = "available"


class Volume(DeclarativeType):
    def create(self, view: ResourceContext) -> VerbResult:
        if view.properties.get(BACKUP_ID):
            return self._restored(view)
        calls = self.client(view)
        arguments = self.create_arguments(view)
        body: dict[str, Json] = {"volume": arguments}
        wishes = build_scheduler_hints(view)
        if wishes:
            body[_HINTS] = wishes
        volume = calls.send("POST", calls.path(), body).body["volume"]
        return self.to_result(replace(view, physical_id=volume["id"]), volume)

    def create_arguments(self, view: ResourceContext) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        given = view.properties.get("metadata") or {}
        values = {key: str(value) for key, value in given.items()}
        return {**arguments, "metadata": {**values, OWNER_METADATA_KEY: view.resource_id}}

    def _restored(self, view: ResourceContext) -> VerbResult:
        """A new volume of a backup."""
        calls, backup_id = self.client(view), view.properties[BACKUP_ID]
        arguments = {**self.create_arguments(view), BACKUP_ID: backup_id}
        if not arguments.get("size"):
            arguments["size"] = self.client_for(view, "cinder.backup").get(backup_id)["size"]
        volume = RestResourceClient(
            calls.cloud, replace(calls.rest_resource, microversion=CREATE_FROM_BACKUP_MICROVERSION)
        ).create(arguments)
        return self.to_result(replace(view, physical_id=volume["id"]), volume)

    def resume_create(self, view: ResourceContext) -> VerbResult:
        return self.observe(view)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        calls, thing_id = self.client(view), self._id(view)
        body = calls.get(thing_id)
        steps = self._steps(view, after, changed, body)
        if len(steps) > 1:
            steps[0]()
            raise Conflict("the volume is given its properties one after the other")
        names = changed & (self._sendable - {"size", "volume_type"})
        arguments = self.update_arguments(view, after, names) if names else {}
        if arguments:
            calls.update(thing_id, arguments)
        made = PhysicalResource(calls, thing_id, body, self.id_lookup(view), view)
        for part in self.spec.subresources:
            if part.property_names & changed:
                part.apply(made, after, view.properties)
        for step in steps:
            step()
        return self.to_result(replace(view, properties=after), calls.get(thing_id))

    def _steps(
        self,
        view: ResourceContext,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> list[Any]:
        """The operations that are still to be done."""
        steps = []
        calls, thing_id = self.client(view), self._id(view)
        size = after.get("size")
        if "size" in changed and size is not None and size != body["size"]:
            if size < body["size"]:
                raise NotSupported("Shrinking volume is not supported.")
            steps.append(lambda: self._extend(view, calls, body, size))
        kind = after.get("volume_type")
        if "volume_type" in changed and kind and kind != body.get("volume_type"):
            new_type = {"new_type": kind, "migration_policy": "never"}
            steps.append(lambda: calls.action(thing_id, "os-retype", new_type))
        backup_id = after.get(BACKUP_ID)
        if BACKUP_ID in changed and backup_id:
            steps.append(lambda: self._restore(view, backup_id, thing_id))
        if steps and body["status"] not in (_FREE, "in-use"):
            raise Conflict(f"the volume is {body['status']}")
        return steps

    def _extend(
        self, view: ResourceContext, calls: RestResourceClient, body: Mapping[str, Json], size: int
    ) -> None:
        if body["status"] != _FREE:
            thing = replace(calls.rest_resource, microversion=EXTEND_ATTACHED_MICROVERSION)
            calls = RestResourceClient(calls.cloud, thing)
        calls.action(self._id(view), "os-extend", {"new_size": size})

    def _restore(self, view: ResourceContext, backup_id: str, volume_id: str) -> None:
        backups = self.client_for(view, "cinder.backup")
        path = backups.path(backup_id, "restore")
        backups.send("POST", path, {"restore": {"volume_id": volume_id}})

    # -- backups

    def snapshot(self, view: ResourceContext) -> VerbResult:
        backups, mark = self.client_for(view, "cinder.backup"), ownership_mark(view)
        body = find_service_snapshot(view, backups)
        if body is None and view.action is Action.DELETE and not self._is_whole(view):
            return VerbResult(ObservedState.READY, view.physical_id)
        body = body or backups.create(
            {
                "volume_id": view.physical_id,
                "force": True,
                "name": view.resource_snapshot_name,
                "description": mark,
            }
        )
        data = {**view.data, "backup_id": body["id"]}
        return self._saved(replace(view, data=data), body)

    def _is_whole(self, view: ResourceContext) -> bool:
        """Whether there is anything to be saved before it is deleted."""
        status = str(self.client(view).get(self._id(view))["status"])
        return not status.startswith("error") and status not in ("creating", "deleting")

    def observe(self, view: ResourceContext) -> VerbResult:
        backup_id = view.data.get("backup_id")
        if view.action is not Action.SNAPSHOT or not backup_id:
            return super().observe(view)
        body = self._backup(self.client_for(view, "cinder.backup"), backup_id)
        if body is None:
            return VerbResult(ObservedState.FAILED, view.physical_id, reason="the backup is gone")
        return self._saved(view, body)

    def _saved(self, view: ResourceContext, body: Mapping[str, Json]) -> VerbResult:
        status = str(body.get("status") or "creating")
        observed = {"available": ObservedState.READY, "error": ObservedState.FAILED}.get(
            status, ObservedState.BUSY
        )
        return VerbResult(
            observed,
            view.physical_id,
            data=view.data,
            reason=str(body.get("fail_reason") or "") if observed is ObservedState.FAILED else "",
            poll_after_s=poll_interval.next_poll_s(view.started_at, view.now),
        )

    @staticmethod
    def _backup(backups: RestResourceClient, backup_id: str | None) -> dict[str, Json] | None:
        if backup_id is None:
            return None
        try:
            return backups.get(backup_id)
        except ResourceGone:
            return None

    def delete_snapshot(self, view: ResourceContext) -> None:
        delete_service_snapshots(view, self.client_for(view, "cinder.backup"), "backup_id")

    def restored_properties(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        return {BACKUP_ID: data["backup_id"]} if data.get("backup_id") else {}

    # -- what is told

    def attribute(self, view: ResourceContext, name: str) -> Json:
        value = super().attribute(view, name)
        if name in ("metadata", "metadata_values") and value is not None:
            value = {key: text for key, text in value.items() if key != OWNER_METADATA_KEY}
        if name in ("metadata", "attachments") and value is not None:
            return json.dumps(value)
        return str(value) if name == "size" and value is not None else value

    def validate_property_names(self, given: frozenset[str]) -> None:
        sources = [name for name in SOURCE_PROPERTIES if name in given]
        if len(sources) > 1:
            raise StackValidationFailed(
                f"only one of {', '.join(SOURCE_PROPERTIES)} can be given, not {', '.join(sources)}"  # noqa: E501
            )
        if not sources and "size" not in given:
            raise StackValidationFailed(
                f"size is needed where none of {', '.join(SOURCE_PROPERTIES)} is given"
            )

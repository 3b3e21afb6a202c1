"""``OS::Cinder::Volume``: extended, retyped, restored and backed up.

Decides which of Cinder's operations takes a volume to its properties.  Each one makes the volume
busy, and Cinder runs one at a time: as long as more are needed, the verb raises ``Conflict`` and
starts the next operation when it is retried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import NotSupported, StackValidationFailed
from heat_convergence.common.failures import Conflict, ResourceGone
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
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
BACKUP_ID = "backup_id"
EXTEND_ATTACHED_MICROVERSION = "3.42"
CREATE_FROM_BACKUP_MICROVERSION = "3.47"  # creates a volume from a backup by one call
SOURCE_PROPERTIES = ("image", "source_volid", "snapshot_id", BACKUP_ID)
_HINTS = "OS-SCH-HNT:scheduler_hints"
_FREE = "available"


class Volume(DeclarativeType):
    """A volume of the block storage service."""

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the volume, or restore it from a backup."""
        if context.properties.get(BACKUP_ID):
            return self._create_from_backup(context)
        client = self.client(context)
        arguments = self.create_arguments(context)
        body: dict[str, Json] = {"volume": arguments}
        hints = build_scheduler_hints(context)
        if hints:
            body[_HINTS] = hints
        volume = client.send("POST", client.path(), body).body["volume"]
        return self.to_result(replace(context, physical_id=volume["id"]), volume)

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments of the create call, with the ownership mark."""
        arguments = super().create_arguments(context)
        metadata = context.properties.get("metadata") or {}
        values = {key: str(value) for key, value in metadata.items()}
        return {**arguments, "metadata": {**values, OWNER_METADATA_KEY: context.resource_id}}

    def _create_from_backup(self, context: ResourceContext) -> VerbResult:
        """Create a volume from a backup with a single call."""
        client, backup_id = self.client(context), context.properties[BACKUP_ID]
        arguments = {**self.create_arguments(context), BACKUP_ID: backup_id}
        if not arguments.get("size"):
            arguments["size"] = self.client_for(context, "cinder.backup").get(backup_id)["size"]
        volume = RestResourceClient(
            client.cloud,
            replace(client.rest_resource, microversion=CREATE_FROM_BACKUP_MICROVERSION),
        ).create(arguments)
        return self.to_result(replace(context, physical_id=volume["id"]), volume)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Observe the volume; its create call carried everything."""
        return self.observe(context)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Change what takes effect at once, and start one of the slow operations.

        Raises:
            Conflict: An operation is running, or another one must follow; retry the verb.
        """
        client, physical_id = self.client(context), self._id(context)
        body = client.get(physical_id)
        operations = self._pending_operations(context, after, changed, body)
        if len(operations) > 1:
            operations[0]()
            raise Conflict("the volume changes its properties one after the other")
        names = changed & (self._sendable - {"size", "volume_type"})
        arguments = self.update_arguments(context, after, names) if names else {}
        if arguments:
            client.update(physical_id, arguments)
        volume = PhysicalResource(client, physical_id, body, self.id_lookup(context), context)
        for subresource in self.spec.subresources:
            if subresource.property_names & changed:
                subresource.apply(volume, after, context.properties)
        for operation in operations:
            operation()
        return self.to_result(replace(context, properties=after), client.get(physical_id))

    def _pending_operations(
        self,
        context: ResourceContext,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> list[Callable[[], object]]:
        """Return the operations that are still missing, in order.

        Raises:
            NotSupported: The size is to shrink.
            Conflict: An operation is needed, but the volume is busy.
        """
        operations: list[Callable[[], object]] = []
        client, physical_id = self.client(context), self._id(context)
        size = after.get("size")
        if "size" in changed and size is not None and size != body["size"]:
            if size < body["size"]:
                raise NotSupported("Shrinking volume is not supported.")
            operations.append(lambda: self._extend(context, client, body, size))
        volume_type = after.get("volume_type")
        if "volume_type" in changed and volume_type and volume_type != body.get("volume_type"):
            retype = {"new_type": volume_type, "migration_policy": "never"}
            operations.append(lambda: client.action(physical_id, "os-retype", retype))
        backup_id = after.get(BACKUP_ID)
        if BACKUP_ID in changed and backup_id:
            operations.append(lambda: self._restore(context, backup_id, physical_id))
        if operations and body["status"] not in (_FREE, "in-use"):
            raise Conflict(f"the volume is {body['status']}")
        return operations

    def _extend(
        self,
        context: ResourceContext,
        client: RestResourceClient,
        body: Mapping[str, Json],
        size: int,
    ) -> None:
        if body["status"] != _FREE:
            rest_resource = replace(
                client.rest_resource, microversion=EXTEND_ATTACHED_MICROVERSION
            )
            client = RestResourceClient(client.cloud, rest_resource)
        client.action(self._id(context), "os-extend", {"new_size": size})

    def _restore(self, context: ResourceContext, backup_id: str, volume_id: str) -> None:
        backups = self.client_for(context, "cinder.backup")
        path = backups.path(backup_id, "restore")
        backups.send("POST", path, {"restore": {"volume_id": volume_id}})

    # -- backups

    def snapshot(self, context: ResourceContext) -> VerbResult:
        """Create a backup, unless an earlier attempt has created it.

        Before a delete, a volume without usable content is skipped.
        """
        backups, mark = self.client_for(context, "cinder.backup"), ownership_mark(context)
        body = find_service_snapshot(context, backups)
        if body is None and context.action is Action.DELETE and not self._has_content(context):
            return VerbResult(ObservedState.READY, context.physical_id)
        body = body or backups.create(
            {
                "volume_id": context.physical_id,
                "force": True,
                "name": context.resource_snapshot_name,
                "description": mark,
            }
        )
        data = {**context.data, "backup_id": body["id"]}
        return self._backup_result(replace(context, data=data), body)

    def _has_content(self, context: ResourceContext) -> bool:
        """Return whether the volume holds anything worth a backup."""
        status = str(self.client(context).get(self._id(context))["status"])
        return not status.startswith("error") and status not in ("creating", "deleting")

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the backup during a snapshot, otherwise the volume."""
        backup_id = context.data.get("backup_id")
        if context.action is not Action.SNAPSHOT or not backup_id:
            return super().observe(context)
        body = self._read_backup(self.client_for(context, "cinder.backup"), backup_id)
        if body is None:
            return VerbResult(
                ObservedState.FAILED, context.physical_id, reason="the backup no longer exists"
            )
        return self._backup_result(context, body)

    def _backup_result(self, context: ResourceContext, body: Mapping[str, Json]) -> VerbResult:
        status = str(body.get("status") or "creating")
        observed = {"available": ObservedState.READY, "error": ObservedState.FAILED}.get(
            status, ObservedState.BUSY
        )
        return VerbResult(
            observed,
            context.physical_id,
            data=context.data,
            reason=str(body.get("fail_reason") or "") if observed is ObservedState.FAILED else "",
            poll_after_s=poll_interval.next_poll_s(context.started_at, context.now),
        )

    @staticmethod
    def _read_backup(backups: RestResourceClient, backup_id: str | None) -> dict[str, Json] | None:
        if backup_id is None:
            return None
        try:
            return backups.get(backup_id)
        except ResourceGone:
            return None

    def delete_snapshot(self, context: ResourceContext) -> None:
        """Delete the backup."""
        delete_service_snapshots(context, self.client_for(context, "cinder.backup"), "backup_id")

    def restored_properties(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the backup as the volume's ``backup_id``."""
        return {BACKUP_ID: data["backup_id"]} if data.get("backup_id") else {}

    # -- attributes and validation

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute as Heat does: metadata as JSON, the size as text."""
        value = super().attribute(context, name)
        if name in ("metadata", "metadata_values") and value is not None:
            value = {key: text for key, text in value.items() if key != OWNER_METADATA_KEY}
        if name in ("metadata", "attachments") and value is not None:
            return json.dumps(value)
        return str(value) if name == "size" and value is not None else value

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Require at most one source, and a size without one."""
        sources = [name for name in SOURCE_PROPERTIES if name in names]
        if len(sources) > 1:
            raise StackValidationFailed(
                f"only one of {', '.join(SOURCE_PROPERTIES)} can be given, not {', '.join(sources)}"  # noqa: E501
            )
        if not sources and "size" not in names:
            raise StackValidationFailed(
                f"size is needed where none of {', '.join(SOURCE_PROPERTIES)} is given"
            )

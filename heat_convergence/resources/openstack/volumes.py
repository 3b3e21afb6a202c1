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
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.driver import pace
from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.driver.naming import mark_of
from heat_convergence.resources.driver.row import Made
from heat_convergence.resources.driver.things import MARK_KEY
from heat_convergence.resources.openstack.copies import copy_of, delete_copies
from heat_convergence.resources.openstack.hints import hints
from heat_convergence.resources.plugin import Look, View

Json = Any
BACKUP = "backup_id"
EXTENDS_ATTACHED = "3.42"
RESTORES = "3.47"  # from which on a volume is made of a backup by one call
SOURCES = ("image", "source_volid", "snapshot_id", BACKUP)
_HINTS = "OS-SCH-HNT:scheduler_hints"
_FREE = "available"


class Volume(DeclaredType):
    def create(self, view: View) -> Look:
        if view.properties.get(BACKUP):
            return self._restored(view)
        calls = self.calls(view)
        arguments = self.create_arguments(view)
        body: dict[str, Json] = {"volume": arguments}
        wishes = hints(view)
        if wishes:
            body[_HINTS] = wishes
        volume = calls.send("POST", calls.path(), body).body["volume"]
        return self.look(replace(view, physical_id=volume["id"]), volume)

    def create_arguments(self, view: View) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        given = view.properties.get("metadata") or {}
        values = {key: str(value) for key, value in given.items()}
        return {**arguments, "metadata": {**values, MARK_KEY: view.resource_id}}

    def _restored(self, view: View) -> Look:
        """A new volume of a backup."""
        calls, backup_id = self.calls(view), view.properties[BACKUP]
        arguments = {**self.create_arguments(view), BACKUP: backup_id}
        if not arguments.get("size"):
            arguments["size"] = self.others(view, "cinder.backup").get(backup_id)["size"]
        volume = Calls(calls.cloud, replace(calls.thing, microversion=RESTORES)).create(arguments)
        return self.look(replace(view, physical_id=volume["id"]), volume)

    def found(self, view: View) -> Look:
        return self.observe(view)

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        calls, thing_id = self.calls(view), self._id(view)
        body = calls.get(thing_id)
        steps = self._steps(view, after, changed, body)
        if len(steps) > 1:
            steps[0]()
            raise Conflict("the volume is given its properties one after the other")
        names = changed & (self._sendable - {"size", "volume_type"})
        arguments = self.update_arguments(view, after, names) if names else {}
        if arguments:
            calls.update(thing_id, arguments)
        made = Made(calls, thing_id, body, self.lookups(view), view)
        for part in self.row.parts:
            if part.names & changed:
                part.put(made, after, view.properties)
        for step in steps:
            step()
        return self.look(replace(view, properties=after), calls.get(thing_id))

    def _steps(
        self,
        view: View,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> list[Any]:
        """The operations that are still to be done."""
        steps = []
        calls, thing_id = self.calls(view), self._id(view)
        size = after.get("size")
        if "size" in changed and size is not None and size != body["size"]:
            if size < body["size"]:
                raise NotSupported("Shrinking volume is not supported.")
            steps.append(lambda: self._extend(view, calls, body, size))
        kind = after.get("volume_type")
        if "volume_type" in changed and kind and kind != body.get("volume_type"):
            new_type = {"new_type": kind, "migration_policy": "never"}
            steps.append(lambda: calls.action(thing_id, "os-retype", new_type))
        backup_id = after.get(BACKUP)
        if BACKUP in changed and backup_id:
            steps.append(lambda: self._restore(view, backup_id, thing_id))
        if steps and body["status"] not in (_FREE, "in-use"):
            raise Conflict(f"the volume is {body['status']}")
        return steps

    def _extend(self, view: View, calls: Calls, body: Mapping[str, Json], size: int) -> None:
        if body["status"] != _FREE:
            thing = replace(calls.thing, microversion=EXTENDS_ATTACHED)
            calls = Calls(calls.cloud, thing)
        calls.action(self._id(view), "os-extend", {"new_size": size})

    def _restore(self, view: View, backup_id: str, volume_id: str) -> None:
        backups = self.others(view, "cinder.backup")
        path = backups.path(backup_id, "restore")
        backups.send("POST", path, {"restore": {"volume_id": volume_id}})

    # -- backups

    def snapshot(self, view: View) -> Look:
        backups, mark = self.others(view, "cinder.backup"), mark_of(view)
        body = copy_of(view, backups)
        if body is None and view.action is Action.DELETE and not self._is_whole(view):
            return Look(Observed.READY, view.physical_id)
        body = body or backups.create(
            {
                "volume_id": view.physical_id,
                "force": True,
                "name": view.copy_name,
                "description": mark,
            }
        )
        data = {**view.data, "backup_id": body["id"]}
        return self._saved(replace(view, data=data), body)

    def _is_whole(self, view: View) -> bool:
        """Whether there is anything to be saved before it is deleted."""
        status = str(self.calls(view).get(self._id(view))["status"])
        return not status.startswith("error") and status not in ("creating", "deleting")

    def observe(self, view: View) -> Look:
        backup_id = view.data.get("backup_id")
        if view.action is not Action.SNAPSHOT or not backup_id:
            return super().observe(view)
        body = self._backup(self.others(view, "cinder.backup"), backup_id)
        if body is None:
            return Look(Observed.FAILED, view.physical_id, reason="the backup is gone")
        return self._saved(view, body)

    def _saved(self, view: View, body: Mapping[str, Json]) -> Look:
        status = str(body.get("status") or "creating")
        observed = {"available": Observed.READY, "error": Observed.FAILED}.get(
            status, Observed.BUSY
        )
        return Look(
            observed,
            view.physical_id,
            data=view.data,
            reason=str(body.get("fail_reason") or "") if observed is Observed.FAILED else "",
            again_s=pace.again_s(view.started_at, view.now),
        )

    @staticmethod
    def _backup(backups: Calls, backup_id: str | None) -> dict[str, Json] | None:
        if backup_id is None:
            return None
        try:
            return backups.get(backup_id)
        except ResourceGone:
            return None

    def delete_snapshot(self, view: View) -> None:
        delete_copies(view, self.others(view, "cinder.backup"), "backup_id")

    def restored(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        return {BACKUP: data["backup_id"]} if data.get("backup_id") else {}

    # -- what is told

    def attribute(self, view: View, name: str) -> Json:
        value = super().attribute(view, name)
        if name in ("metadata", "metadata_values") and value is not None:
            value = {key: text for key, text in value.items() if key != MARK_KEY}
        if name in ("metadata", "attachments") and value is not None:
            return json.dumps(value)
        return str(value) if name == "size" and value is not None else value

    def validate_names(self, given: frozenset[str]) -> None:
        sources = [name for name in SOURCES if name in given]
        if len(sources) > 1:
            raise StackValidationFailed(
                f"only one of {', '.join(SOURCES)} can be given, not {', '.join(sources)}"
            )
        if not sources and "size" not in given:
            raise StackValidationFailed(
                f"size is needed where none of {', '.join(SOURCES)} is given"
            )

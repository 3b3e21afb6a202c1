"""``OS::Glance::WebImage``: an image that the service fetches by itself.

Decides how properties become an image's own; extra properties lie beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import ResourceGone
from heat_convergence.convergence.model import Observed
from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.driver.row import Made, Part
from heat_convergence.resources.plugin import Look, View

Json = Any
PATCH = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
EXTRA = "extra_properties"


class Members(Part):
    """Projects that a shared image is offered to."""

    names = frozenset({"members"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        path = made.calls.path(made.thing_id, "members")
        there = {item["member_id"] for item in made.calls.send("GET", path).body["members"]}
        goal = set(wanted.get("members") or ())
        for member in sorted(there - goal):
            made.calls.send("DELETE", f"{path}/{member}")
        for member in sorted(goal - there):
            made.calls.send("POST", path, {"member": member})


MEMBERS = Members()


class WebImage(DeclaredType):
    def create_arguments(self, view: View) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        return {**arguments, **(view.properties.get(EXTRA) or {})}

    def complete(self, made: Made) -> bool:
        if made.body.get("status", "queued") == "queued":
            how = {"name": "web-download", "uri": made.view.properties["location"]}
            path = made.calls.path(made.thing_id, "import")
            made.calls.send("POST", path, {"method": how})
        return super().complete(made)

    def state(self, view: View, body: Mapping[str, Json]) -> tuple[Observed, str]:
        failed = body.get("os_glance_failed_import")
        if failed:
            return Observed.FAILED, f"the import into {failed} has failed"
        return super().state(view, body)

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        calls, thing_id = self.calls(view), self._id(view)
        if "active" in changed:
            verb = "reactivate" if after.get("active", True) else "deactivate"
            calls.send("POST", calls.path(thing_id, "actions", verb))
        patch = self._patch(view, after, changed, calls.get(thing_id))
        if patch:
            calls.send("PATCH", calls.path(thing_id), patch, headers=PATCH)
        if "members" in changed:
            made = Made(calls, thing_id, {}, self.lookups(view), view)
            MEMBERS.put(made, after, view.properties)
        return self.look(replace(view, properties=after), calls.get(thing_id))

    def change(self, view: View, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        patch = [
            {"op": "replace", "path": f"/{name}", "value": value}
            for name, value in sorted(arguments.items())
        ]
        calls = self.calls(view)
        calls.send("PATCH", calls.path(self._id(view)), patch, headers=PATCH)
        return calls.get(self._id(view))

    def delete(self, view: View) -> Look:
        if view.physical_id is not None and view.properties.get("protected"):
            self._unprotect(self.calls(view), view.physical_id)
        return super().delete(view)

    @staticmethod
    def _unprotect(calls: Calls, thing_id: str) -> None:
        patch = [{"op": "replace", "path": "/protected", "value": False}]
        try:
            calls.send("PATCH", calls.path(thing_id), patch, headers=PATCH)
        except ResourceGone:
            return

    def _patch(
        self,
        view: View,
        after: Mapping[str, Json],
        changed: frozenset[str],
        body: Mapping[str, Json],
    ) -> list[dict[str, Json]]:
        names = changed & (self._sendable - {"active", "location", EXTRA})
        wanted = {name: after.get(name) for name in names}
        if EXTRA in changed:
            old = view.properties.get(EXTRA) or {}
            wanted.update(dict.fromkeys(old))
            wanted.update(after.get(EXTRA) or {})
        patch = []
        for name, value in sorted(wanted.items()):
            there = name in body
            if value is not None:
                op = "replace" if there else "add"
                patch.append({"op": op, "path": f"/{name}", "value": value})
            elif there and name != "tags":
                patch.append({"op": "remove", "path": f"/{name}"})
        return patch

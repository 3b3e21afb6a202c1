"""Roles, group memberships and what else surrounds users, groups and domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heat_convergence.common.errors import ResourceGone
from heat_convergence.resources.driver import naming
from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.driver.lookups import Lookups
from heat_convergence.resources.driver.row import Made, Part
from heat_convergence.resources.openstack.links import Link
from heat_convergence.resources.openstack.parts import delete_if_there
from heat_convergence.resources.plugin import View

Json = Any
ROLES = "roles"


def role_paths(lookups: Lookups, roles: Iterable[Mapping[str, Json]], who: str) -> set[str]:
    """The paths of grants; ``who`` is such as ``users/ID``."""
    paths = set()
    for item in roles or ():
        role = lookups.id_of("keystone.role", item["role"])
        for name in ("project", "domain"):
            if item.get(name):
                where = lookups.id_of(f"keystone.{name}", item[name])
                paths.add(f"/{name}s/{where}/{who}/roles/{role}")
    return paths


class Roles(Part):
    """Grants are sets: what is there already is granted again, harmlessly."""

    names = frozenset({ROLES})

    def __init__(self, collection: str) -> None:
        self._collection = collection

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal, there = self._paths(made, wanted), self._paths(made, before or {})
        for path in sorted(there - goal):
            delete_if_there(made, path)
        for path in sorted(goal if before is None else goal - there):
            made.calls.send("PUT", path)

    def _paths(self, made: Made, properties: Mapping[str, Json]) -> set[str]:
        who = f"{self._collection}/{made.thing_id}"
        return role_paths(made.lookups, properties.get(ROLES) or (), who)


class Groups(Part):
    """A user's."""

    names = frozenset({"groups"})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        goal, there = self._ids(made, wanted), self._ids(made, before or {})
        for group in sorted(there - goal):
            delete_if_there(made, f"/groups/{group}/users/{made.thing_id}")
        for group in sorted(goal):
            made.calls.send("PUT", f"/groups/{group}/users/{made.thing_id}")

    @staticmethod
    def _ids(made: Made, properties: Mapping[str, Json]) -> set[str]:
        names = properties.get("groups") or ()
        return {made.lookups.id_of("keystone.group", name) for name in names}


class DisabledFirst(Part):
    """The service deletes no domain that is enabled."""

    names = frozenset()

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        """Nothing: ``enabled`` is an argument as any."""

    def remove(self, made: Made, wanted: Mapping[str, Json]) -> None:
        try:
            made.calls.update(made.thing_id, {"enabled": False})
        except ResourceGone:
            return


class _RoleAssignment(Link):
    """Roles of someone who is not the template's."""

    who: str
    collection: str

    def parts_of(self, view: View, properties: Mapping[str, Json]) -> dict[str, Json]:
        noun = f"keystone.{self.who}"
        who = self.arguments(view).value(noun, properties[self.who], self.who)
        paths = role_paths(
            self.lookups(view), properties.get(ROLES) or (), f"{self.collection}/{who}"
        )
        return {"id": who, "paths": sorted(paths)}

    def link_id(self, parts: Mapping[str, Json]) -> str:
        return str(parts["id"])

    def join(self, view: View, parts: Mapping[str, Json]) -> None:
        for path in parts["paths"]:
            self.calls(view).send("PUT", path)

    def part(self, view: View, parts: Mapping[str, Json]) -> None:
        for path in parts["paths"]:
            _delete(self.calls(view), path)

    def shown(self, view: View, parts: Mapping[str, Json]) -> Mapping[str, Json] | None:
        try:
            for path in parts["paths"]:
                self.calls(view).send("HEAD", path)
        except ResourceGone:
            return None
        return parts


class UserRoleAssignment(_RoleAssignment):
    who = "user"
    collection = "users"


class GroupRoleAssignment(_RoleAssignment):
    who = "group"
    collection = "groups"


class NamedById(DeclaredType):
    """Regions: the id is what others are called by."""

    def create_arguments(self, view: View) -> dict[str, Json]:
        arguments = super().create_arguments(view)
        return {**arguments, "id": arguments.get("id") or view.physical_name}

    def find(self, view: View) -> str | None:
        wanted = str(view.properties.get("id") or view.physical_name)
        try:
            body = self.calls(view).get(wanted)
        except ResourceGone:
            return None
        return wanted if naming.bears(view, body) else None


def _delete(calls: Calls, path: str) -> None:
    try:
        calls.send("DELETE", path)
    except ResourceGone:
        return


USER_ROLES = Roles("users")
GROUP_ROLES = Roles("groups")
GROUPS = Groups()
DISABLED_FIRST = DisabledFirst()

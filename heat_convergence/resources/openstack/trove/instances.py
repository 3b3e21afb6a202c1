"""``OS::Trove::Instance``: a database server, which is resized one step at a time.

Decides the next step from what the service shows, so that a lost request is repeated (RULE 4).

Source: docs.openstack.org/api-ref/database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.declarative_steps import UPDATING_ACTIONS
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
FLAVOR_ENTITY = "trove.flavor"
DATABASES, USERS, FLAVOR, SIZE = "databases", "users", "flavor", "size"
READY_STATES = frozenset({"active", "healthy"})  # the latter from guest agents of today


class DatabaseInstance(DeclarativeType):
    """An instance with its databases and users."""

    def has_secret_data(self, properties: Mapping[str, Json]) -> bool:
        """Return whether there are users, who have passwords."""
        return bool(properties.get(USERS))

    def validate_property_names(self, names: frozenset[str]) -> None:
        """Refuse the version of a datastore without its type, and users without databases.

        Raises:
            StackValidationFailed: There is one.
        """
        if "datastore_version" in names and "datastore_type" not in names:
            raise StackValidationFailed("datastore_version requires datastore_type.")
        if USERS in names and DATABASES not in names:
            raise StackValidationFailed("Databases property is required if users are specified.")

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check that users have existing databases, and networks one object each.

        Raises:
            StackValidationFailed: They have not.
        """
        known = {each.get("name") for each in properties.get(DATABASES) or ()}
        for user in properties.get(USERS) or ():
            missing = sorted(set(user.get(DATABASES) or ()) - known)
            if missing and DATABASES in properties:
                raise StackValidationFailed(
                    f"Database {missing[0]} of user {user.get('name')} does not exist."
                )
        validate_networks(properties.get("networks") or ())

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with databases and users; what is empty is not sent."""
        properties = context.properties
        arguments = {
            **super().create_arguments(context),
            DATABASES: [_set_values(each) for each in properties.get(DATABASES) or ()],
            USERS: [as_user(each) for each in properties.get(USERS) or ()],
        }
        return {name: value for name, value in arguments.items() if value not in ([], {}, "")}

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Change name, databases and users, and start to resize."""
        super().update(context, after, changed - {FLAVOR, SIZE})
        return self.observe(replace(context, properties=after, action=Action.UPDATE))

    def _with_restored_fields(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Start the next step of an update as soon as the instance is active."""
        updating = context.action in UPDATING_ACTIONS
        resize = self._next_resize(context, body) if updating else None
        if resize is None or self._word(body) not in READY_STATES:
            return super()._with_restored_fields(context, body)
        client = self.client(context)
        client.action(self._id(context), "resize", resize)
        return client.get(self._id(context))

    def _next_resize(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> dict[str, Json] | None:
        """Return what is still to be resized, one step of it; None if nothing is."""
        size = context.properties.get(SIZE)
        if size is not None and (body.get("volume") or {}).get(SIZE) != size:
            return {"volume": {SIZE: size}}
        if not context.properties.get(FLAVOR):
            return None
        flavor = self.argument_builder(context).resolve_id(
            FLAVOR_ENTITY, context.properties[FLAVOR], FLAVOR
        )
        shown = str((body.get(FLAVOR) or {}).get("id"))
        return None if shown == flavor else {"flavorRef": flavor}

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return an attribute; ``href`` is the link of the instance to itself."""
        if name != "href":
            return super().attribute(context, name)
        links = (context.attributes.get("show") or {}).get("links") or ()
        return next((each["href"] for each in links if each.get("rel") == "self"), None)


def as_user(declared: Mapping[str, Json]) -> dict[str, Json]:
    """Return a user with the databases in the form of the service."""
    databases = [{"name": name} for name in declared.get(DATABASES) or ()]
    return {**_set_values(declared), DATABASES: databases}


def validate_networks(networks: Iterable[Mapping[str, Json]]) -> None:
    """Check that each has either a network or a port.

    Raises:
        StackValidationFailed: One has both, or none.
    """
    for each in networks:
        if (each.get("network") is None) is (each.get("port") is None):
            raise StackValidationFailed("Either network or port must be provided.")


def _set_values(declared: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in declared.items() if value is not None}
